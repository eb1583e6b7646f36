find-title = חיפוש
find-what = דף, לקוח, מדיניות או שיחה: לפי שם, מזהה או מילים
find-pages = דפים
find-tenants = לקוחות
find-policies = מדיניות
find-policy = המדיניות של { $name }
find-count =
    { $count ->
        [0] לא נמצא דבר.
        [one] נמצאה תוצאה אחת.
       *[other] נמצאו { $count } תוצאות.
    }
find-keys = החצים בוחרים, Enter פותח, Esc סוגר.
keyboard-title = המקלדת
keys-j = הבא ברשימה, או הפריט הבא
keys-k = הקודם
keys-x = סימון
keys-enter = פתיחת מה שנבחר
keys-y = אישור או לקיחת השיחה; שואל לפני כן
keys-n = דחייה או סיום טיפול; שואל לפני כן
keys-e = תשובה, או שינוי הארגומנטים
keys-a = הקצאה אליי
keys-find = חיפוש בכול
keys-help = הרשימה הזאת
keys-yes = כן
close = סגירה
