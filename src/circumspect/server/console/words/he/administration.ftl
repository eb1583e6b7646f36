new-tenant = לקוח חדש
new-tenant-name = שם העסק
new-tenant-id = מזהה
new-tenant-id-hint = אותיות לטיניות, ספרות, נקודות ומקפים. הוא מופיע בכתובות ואינו משתנה לעולם.
new-tenant-from = להתחיל עם
new-tenant-empty = השם בלבד
new-tenant-sample = הדוגמה
new-tenant-sample-hint = דוגמה מביאה כלים, מדיניות ומידע על העסק, מעל מערכת משלה שנועדה לניסיון בלבד.
new-tenant-make = יצירת הלקוח
tenant-done-made = הלקוח נוצר. הצעדים הבאים: המסמכים, הכלים והצ׳אט לדפים שלו.
tenant-done-document = המסמך נוסף. אפשר לענות ממנו מההודעה הבאה.
tenant-done-removed = המסמך הוסר.
tenant-done-choose = הוכחתם מי אתם. בחרו את הקובץ פעם נוספת.
document-file = קובץ
document-add = הוספה
document-hint = Markdown, HTML, טקסט פשוט או PDF. מסמך באותו שם מוחלף.
document-remove = הסרה
document-remove-means = מעכשיו לא ייענה דבר מתוך המסמך הזה.
nav-colleagues = עמיתים
colleagues-title = מי רשאי להיכנס
colleague-role = תפקיד
colleague-tenants = רק הלקוחות האלה (בלי בחירה: כולם)
colleague-no-role = עדיין אין
colleague-on = רשאי להיכנס
colleague-off = מושבת
colleague-change = שינוי
colleague-disable = השבתה
colleague-enable = לאפשר שוב כניסה
colleague-disable-means = הכניסות שלו מסתיימות בכל מקום, והוא לא ייכנס עוד.
colleague-new = עמית חדש
colleague-hint = ניתנת סיסמה ראשונה, שמוצגת פעם אחת; אחרי הכניסה בוחרים סיסמה אישית.
colleague-provider = כאן נכנסים דרך ספק הזהויות שלכם: הוא יוצר ומשבית את החשבונות.
colleague-all-hint = מנהל של כל הלקוחות יכול לשנות הכול, ואת כולם.
colleague-some-hint = בחרו לפחות לקוח אחד: איש אינו נותן יותר משיש לו.
colleague-add = הוספת העמית
colleague-made = ‏"{ $name }" רשאי להיכנס.
colleague-once = הסיסמה הראשונה מוצגת פעם אחת ואינה נשמרת בשום מקום. מסרו אותה עכשיו.
colleague-done-role = התפקיד שונה, והכניסות הסתיימו.
colleague-done-disabled = הושבת, והוצא מכל מקום.
colleague-done-enabled = הכניסה שוב מותרת.
owner-means = מנהל של כל הלקוחות יכול לשנות כל מדיניות, כלי, תוכנית ועמית, כולל אתכם.
affects-tenants =
    { $count ->
        [one] לקוח אחד: { $names }
       *[other] { $count } לקוחות: { $names }
    }
typed-title = השינוי הזה משפיע על הרבה. להמשיך?
typed-ask = כדי להמשיך, הקלידו את השם:
typed-wrong = זה לא היה השם. לא נעשה דבר.
typed-go = לבצע
typed-final = אי אפשר לבטל זאת.
undo = ביטול הפעולה
undo-hint = אפשר לחזור בכם במשך עשר דקות.
command-same = אותו הדבר בשורת הפקודה
widget-setup = צ׳אט לדפי אינטרנט
widget-saved = נשמר. דפים פתוחים יראו זאת בטעינה הבאה.
widget-snippet = השורה לדף שלכם
widget-snippet-hint = הוסיפו אותה בכל מקום בדף. המפתח שבה ציבורי: הוא יכול לשוחח, ולא יותר.
widget-make-key = יצירת מפתח לשורה הזאת
widget-keys = מפתחות לדפי אינטרנט:
widget-key-name = אתר
widget-no-origins = עדיין אין אתר שרשאי להציג את הצ׳אט. כתבו את שלכם למטה.
widget-look = אתרים ומראה
widget-origins = אתרים שרשאים להציג את הצ׳אט
widget-origins-hint = אחד בשורה: https://shop.example, או https://*.shop.example לכל מה שמתחתיו.
widget-brand-name = השם מעל הצ׳אט
widget-colour = צבע
widget-colour-hint = מה שכתוב עליו הופך שחור או לבן, ומה שכתוב בו כהה או בהיר יותר, כדי שאפשר יהיה לקרוא. עכשיו:
widget-greeting-title = מה הצ׳אט אומר תחילה
widget-ai-hint = הצ׳אט תמיד אומר שהוא בינה מלאכותית, ויש בו כפתור לשיחה עם נציג: הוא מעביר את השיחה לאדם.
tools-own = כלי HTTP ו-MCP
tools-own-hint = נוספו כאן או בקובץ הלקוח. מה מותר לכלי ומה שואלים לפניו כתוב במדיניות.
tools-own-none = עדיין אין.
tools-others =
    { $count ->
        [one] מקור כלים נוסף מריץ קוד בשרת הזה: משנים אותו בקובץ הלקוח, לעולם לא כאן.
       *[other] { $count } מקורות כלים נוספים מריצים קוד בשרת הזה: משנים אותם בקובץ הלקוח, לעולם לא כאן.
    }
tools-manage = הוספה וניסיון של כלים
tool-done-added = הכלי זמין מההודעה הבאה. כתבו במדיניות מה שואלים לפני שהוא פועל.
tool-done-removed = הכלי הוסר מההודעה הבאה.
tool-remove-means = הסוכן לא יוכל להשתמש בו עוד, באף שיחה.
tool-tried = נוסה:
tool-tried-sent = הוא רק קורא, ולכן הבקשה נשלחה באמת. זה מה שחזר:
tool-tried-shown = הוא משנה משהו, ולכן לא נשלח דבר. זה מה שהיה נשלח:
tool-tried-failed = זה לא הצליח, ודבר לא השתנה:
tool-try = ניסיון
tool-try-hint = ניסיון אינו יכול לפעול: כלי שרק קורא ב-GET נשאל באמת; מכל כלי אחר מוצגת הבקשה, ושרת MCP מספר אילו כלים יש לו.
tool-try-no-json = הארגומנטים אינם אובייקט JSON.
tool-try-no-json-fix = כתבו כך: {"{"}"order_id": "12345"{"}"}
tool-arguments = ארגומנטים (JSON)
tool-http = כלי HTTP חדש
tool-http-hint = בקשה אחת. כתבו פרמטרים בסוגריים מסולסלים; הם ימולאו, מקודדים, מתוך הקריאה.
tool-name = שם הכלי
tool-method = שיטה
tool-url = כתובת
tool-secret = אסימון Bearer (נשמר חתום; ריק: בלי)
tool-more = גוף ופרמטרים
tool-body = גוף JSON, עם פרמטרים בסוגריים (ריק: בלי)
tool-parameters = פרמטרים כסכמת JSON (ריק: טקסט לכל סוגריים)
tool-add = הוספת הכלי
tool-mcp = שרת MCP חדש
tool-mcp-hint = כל הכלים שלו נוספים. מי שהשפעתו לא הוצהרה נדחה עד שהמדיניות אומרת מה הוא עושה.
tool-mcp-name = שם השרת
tool-mcp-url = כתובת השרת
tool-mcp-prefix = קידומת לשמות הכלים שלו (אפשר ריק)
tool-mcp-secret = הכותרת Authorization, למשל ‎"Bearer …"‎ (נשמרת חתומה; ריק: בלי)
affects-tools =
    { $count ->
        [one] כלי אחד שמשנה משהו: { $names }
       *[other] { $count } כלים שמשנים משהו: { $names }
    }
affects-calls = ב-30 הימים האחרונים: { $messages } הודעות, מהן { $acted } שבהן נעשה משהו; { $held } קריאות נעצרו.
affects-standard = במצב רגיל אין הערכה עצמית ואין חוות דעת שנייה: מאושר רק מה שהמדיניות עצמה דורשת לאשר.
