overview-empty = לא קרה דבר בתקופה הזאת. כדי לראות את המסוף עם שיחות לדוגמה, הריצו בשרת:
tile-turns = פניות
tile-adaptive = { $share } במצב מסתגל
tile-prevented = פעולות שגויות שנמנעו
tile-prevented-note =
    { $count ->
        [one] מתוך קריאה אחת שנעצרה
       *[other] מתוך { $count } קריאות שנעצרו
    }
tile-critique = חוות דעת שנייה
tile-critique-note =
    { $count ->
        [one] בפנייה אחת
       *[other] ב-{ $count } פניות
    }
tile-context = שליפות הקשר
tile-context-note = { $average } לפנייה בממוצע
tile-escalation = שיעור העברה לאדם
tile-escalation-note =
    { $count ->
        [one] העברה אחת לאדם
       *[other] { $count } העברות לאדם
    }
tile-tokens = אסימונים לפנייה
tile-tokens-note = במצב רגיל: כ-{ $standard }
tile-cost = עלות לפנייה
tile-cost-note = במצב רגיל: כ-{ $standard }
chart-outcomes = איך הסתיימו הפניות
chart-parts = תוצאות
chart-cost = עלות לפנייה (דולר)
chart-cost-tokens = אסימונים לפנייה
cost-ours = כפי שהיה
cost-standard = מצב רגיל (הערכה)
cost-how = איך מעריכים זאת?
cost-explained = בכל פנייה במצב מסתגל מושמטות הקריאות שרק המצב המסתגל מבצע (חוות דעת שנייה, סבבי הקשר), וכל קריאה שנותרת נושאת את כל ההקשר העסקי ואת כל הגדרות הכלים, לפי ספירה של הטקסטים של הלקוח עצמו, ארבעה תווים לאסימון. היסטוריה ארוכה יותר, שהמצב הרגיל שולח גם כן, אינה נספרת.
holds-title = מה עלה בגורל קריאות שנעצרו
holds-explained = רוב הקריאות שנעצרות נשאלות ואז מבוצעות. נמנעו רק קריאות שמישהו סירב להן, שכלל דחה, או שחזרו עם ערכים אחרים.
hold-done = נשאל תחילה, ואז בוצע
hold-refused = מישהו סירב
hold-denied = נדחה בידי כלל
hold-corrected = תוקן לפני הביצוע
hold-waiting = ממתין, או לא נענה
hold-prevented = נמנע
held-title = פעולות שגויות שנמנעו, לפי סיבה
held-none = אין בתקופה הזאת.
reasons-title = קודי הסיבה הנפוצים
needs-title = מחכה לכם עכשיו
needs-nothing = שום דבר לא מחכה לאדם.
tile-before = לעומת { $value } קודם
tile-points = { $points } נקודות
overview-empty-title = עדיין אין דבר בתקופה הזו
