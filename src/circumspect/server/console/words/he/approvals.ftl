approval-title = אישור
approval-waiting = ממתינות
approval-all = הכול
approvals-none = אף קריאה לא מחכה לאישור
approvals-none-hint = כלי שבמדיניות שלו כתוב confirm: four_eyes נעצר כאן עד שעמית מאשר בדיוק את הקריאה הזו.
col-call = קריאה
exactly = בדיוק זה יבוצע
approve = אישור וביצוע
deny = דחייה
edit = שינוי ארגומנטים…
edit-title = שינוי הארגומנטים של
edit-label = ארגומנטים (JSON)
edit-hint = הקריאה ששונתה עוברת שוב את הכללים. אם הם מתירים, היא ממתינה לאישור משלה.
edit-send = להעביר דרך הכללים
edit-nothing = דבר לא שונה.
edit-nothing-fix = שנו ערך, או אשרו או דחו את הקריאה כפי שהיא.
how-it-came = איך זה קרה
expires = ממתין עד
settled-by = הוחלט על ידי
fingerprint = טביעת אצבע
policy-version = גרסת מדיניות
intent-pending = ממתין
intent-consumed = אושר
intent-denied = נדחה
intent-superseded = הוחלף
intent-collected = הוכרע
intent-expired = פג תוקף
decided-acted = בוצע, בדיוק כפי שהוצג.
decided-answered = הוחלט.
decided-asked = שונה: זו הקריאה החדשה. מישהו אחר צריך לאשר אותה.
decided-anew = זה כבר לא בדיוק מה שנשאל, ולכן השאלה נשאלת מחדש. בדקו את הקריאה כפי שהיא כעת.
decided-escalated = לא ניתן היה להכריע, והעניין הועבר לאדם.
decided-blocked = הכללים אינם מתירים זאת כעת; דבר לא בוצע.
decided-failed = נכשל; ראו בשיחה מה קרה.
approval-late = { $state ->
    [consumed] כבר הוכרע: אושר על ידי { $who }, { $when }.
    [denied] כבר הוכרע: נדחה על ידי { $who }, { $when }.
    [superseded] כבר הוכרע: שונה על ידי { $who }, { $when }. הקריאה ששונתה ממתינה לאישור משלה.
   *[other] כבר הוכרע על ידי { $who }, { $when }.
 }
approval-gone = זה כבר לא ממתין. זה המצב כעת.
exactly-was = בדיוק זה התבקש
approval-own = הצעת או שינית את הקריאה הזאת, לכן אדם אחר צריך לאשר אותה.
left-open = נשאר פתוח
edit-changed = שונה
asked-by = מי ביקש
asked-by-nobody = מי שלא אמר מי הוא
proposed-by = הוצע על ידי
edited-by = שונה על ידי
rests-on = על מה זה נשען
edit-wrong = “{ $name }” אינו כתוב כפי שהכלי מקבל. האישור ממתין כפי שהיה.
edit-wrong-call = הכלי אינו מקבל קריאה כזאת. האישור ממתין כפי שהיה.
decided-denied = נדחה; דבר לא בוצע.
