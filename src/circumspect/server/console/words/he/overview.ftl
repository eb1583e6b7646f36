overview-empty = לא קרה דבר בתקופה הזאת. כדי לראות את המסוף עם שיחות לדוגמה, הריצו בשרת:
tile-turns = פניות
tile-adaptive = { $share } במצב מסתגל
tile-prevented = פעולות שגויות שנמנעו
tile-prevented-note = קריאות משנות שהכללים עצרו
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
        [one] פנייה אחת הועברה לאדם
       *[other] { $count } פניות הועברו לאדם
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
held-title = פעולות שגויות שנמנעו, לפי סיבה
held-none = אין בתקופה הזאת.
reasons-title = קודי הסיבה הנפוצים
