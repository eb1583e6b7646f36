nav-queue = תור העבודה
queue-all = הכול
queue-kind = סוג
queue-escalation = העברות אחרות לאדם
queue-unknown = תוצאה לא ידועה
queue-approval = אישורים
queue-delivery = לא נמסרו
queue-is-escalation = העברה לאדם
queue-is-unknown = תוצאה לא ידועה
queue-is-approval = אישור
queue-is-delivery = לא נמסרה
queue-draft = טיוטות מדיניות
queue-is-draft = טיוטת מדיניות
queue-drafted = מדיניות חדשה מאת { $who }
queue-holder = באחריות
queue-anybody = של כולם
queue-mine = שלי
queue-nobody = של אף אחד
queue-snoozed = נדחו
queue-none = שום דבר לא מחכה לכם
queue-none-hint = העברות לאדם, אישורים, קריאות שתוצאתן לא ידועה ומשלוחים שנכשלו מגיעים לכאן מעצמם, הישן ביותר למעלה.
queue-through = סיימתם: שום דבר אחר לא ממתין בחלק הזה של התור.
queue-undelivered = איש לא שמע על כך: { $to }
queue-back = חוזר
work-title = מי מטפל
work-mine = הקצאה אליי
work-assign-to = הקצאה אל
work-assign = הקצאה
work-snooze-for = דחייה למשך
work-snooze = דחייה
work-wake = החזרה עכשיו
work-notes = הערות פנימיות
work-no-notes = עדיין אין. המשתמשים לעולם לא רואים אותן.
work-note = הערה לעמיתים
work-note-add = הוספת ההערה
work-next = הפריט הבא
work-previous = הקודם
known-title = מה ידוע על כך כעת
known-nothing = אין ללקוח הזה כלי שקורא את מה שהקריאה עוסקת בו.
bulk-title = עם המסומנים
bulk-all = סימון כל הדף
bulk-mark = סימון
bulk-did-assign =
    { $count ->
        [0] דבר לא הוקצה.
        [one] פריט אחד הוקצה.
       *[other] { $count } פריטים הוקצו.
    }
bulk-did-snooze =
    { $count ->
        [0] דבר לא נדחה.
        [one] פריט אחד נדחה.
       *[other] { $count } פריטים נדחו.
    }
bulk-did-resolve =
    { $count ->
        [0] דבר לא נסגר.
        [one] העברה אחת נסגרה.
       *[other] { $count } העברות נסגרו.
    }
bulk-left =
    { $count ->
        [one] אחד נשאר כפי שהיה: פתחו אותו כדי לראות מדוע.
       *[other] { $count } נשארו כפי שהיו: פתחו אותם כדי לראות מדוע.
    }
queue-expires = פג תוקף
