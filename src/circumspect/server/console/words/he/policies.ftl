nav-policies = מדיניות
policies-hint = מה מותר לסוכן של כל לקוח. כל גרסה נשמרת.
policy-in-force = בתוקף
policy-by = על ידי
policy-note = הערה
policy-since = מאז
policy-number = גרסה { $number }
policy-none = אין מדיניות: תקף מה שהכלים מצהירים על עצמם.
policy-of = המדיניות של { $tenant }
policy-text = קובץ המדיניות
policy-note-hint = מה ולמה, בשביל העמיתים
policy-save = הכנסה לתוקף
policy-save-hint = נסו קודם על שיחות שמורות. גרסה חדשה תקפה מההודעה הבאה; אפשר לחזור אחורה בלחיצה אחת.
policy-readonly = רק מנהלי מערכת משנים מדיניות.
policy-done-saved = הגרסה החדשה בתוקף.
policy-done-same = דבר לא השתנה: הטקסט הזה כבר בתוקף.
policy-done-back = הטקסט הקודם שוב בתוקף, כגרסה חדשה.
policy-begun = זה הטקסט של גרסה { $number }. דבר לא משתנה עד שתכניסו אותו לתוקף.
policy-quicker = { $by } הקדימו אתכם: גרסה { $current } הגיעה בזמן שעבדתם על גרסה { $seen }.
policy-quicker-fix = דבר לא נדרס, והטקסט שלכם עדיין למטה. קחו מהשינויים שלהם, המוצגים כאן, את מה שדרוש, והכניסו שוב את שלכם לתוקף: הוא יחליף את
policy-sound = הקובץ תקין.
policy-warned = אפשר להכניס את הקובץ לתוקף, אבל שימו לב:
policy-unsound =
    { $count ->
        [one] טעות אחת: אי אפשר להכניס את הקובץ לתוקף כך.
       *[other] { $count } טעויות: אי אפשר להכניס את הקובץ לתוקף כך.
    }
finding-line = שורה { $number }
finding-error = טעות
finding-warning = שימו לב
checked-title = תוך כדי כתיבה
changes-title = מה משתנה
changes-none = אין שינוי במה שמוחלט.
direction-loosened = מקל
direction-tightened = מחמיר
direction-look = כדאי לבדוק
told-title = מה קורה לקריאה
told-none = תקנו קודם את הטעויות.
trial-title = ניסיון על שיחות שמורות
trial-hint = כל החלטה שמורה מתקבלת שוב לפי הטקסט שלמעלה. לא נשאל מודל, לא מופעל כלי ודבר לא נכתב.
trial-most = שיחות, לכל היותר
trial-run = לנסות
trial-stop = עצירה
trial-progress = { $done } מתוך { $of } שיחות
trial-old = כתבתם מאז: זה על טקסט קודם. נסו שוב.
trial-lost = החיבור אבד. נסו שוב.
trial-unsound = תקנו קודם את הטעויות, ואז אפשר לנסות.
trial-empty = עדיין אין שיחות שמורות לנסות עליהן.
trial-looked =
    { $calls ->
        [one] הצעת קריאה אחת
       *[other] { $calls } הצעות קריאה
    } ב{ $conversations ->
        [one] שיחה אחת
       *[other] -{ $conversations } שיחות
    } הוכרעו מחדש.
trial-cut = הזמן נגמר: יש { $of } שיחות.
trial-unreplayed =
    { $count ->
        [one] קריאה אחת אי אפשר לשחזר, והיא לא נכללת.
       *[other] { $count } קריאות אי אפשר לשחזר, והן לא נכללות.
    }
trial-against = בהשוואה לגרסה { $version } שבתוקף, על אותן קריאות שמורות.
trial-against-stored = בהשוואה למה שהוחלט אז: אין גרסה בתוקף.
trial-details = אחת לאחת
trial-why-gone = חלק מן השיחה לא נשמר.
trial-fix-gone = שמרו שיחות לזמן רב יותר, או נסו על פחות שיחות.
trial-why-page = הוחלט על דף אינטרנט, ודפים לא נשמרים.
trial-fix-page = בצעו את המשימה שוב על הדף.
trial-why-journal = גרסת תוכנה אחרת כתבה את ההחלטה.
trial-fix-journal = נסו רק על שיחות חדשות יותר.
trial-why-tools = הכלי איננו, או שיש לו עכשיו פרמטרים אחרים.
trial-fix-tools = החזירו את ההגדרה הקודמת, או נסו על מה שהוחלט מאז השינוי.
trial-why-differs = כללים של היישום, או הגדרות שהשתנו מאז, השפיעו.
trial-fix-differs = שאלו אותם שוב מ-Python.
trial-same = דבר לא היה מוכרע אחרת מאשר לפי הגרסה שבתוקף.
trial-loosened =
    { $count ->
        [one] קריאה אחת הייתה נעצרת פחות בחומרה משנעצרה.
       *[other] { $count } קריאות היו נעצרות פחות בחומרה משנעצרו.
    }
trial-change = מה משתנה
trial-rule = הכלל שמתערב, או שאינו מתערב עוד
trial-calls = קריאות
trial-needless = לחינם
trial-questions = שאלות לאנשים: { $then } לפי הגרסה שבתוקף, { $now } עם הטקסט הזה.
trial-examples = דוגמאות
flip-let_through = עכשיו עובר
flip-looser = נעצר בעדינות רבה יותר
flip-held = עכשיו נעצר
flip-stricter = נעצר בחומרה רבה יותר
flip-opinion_dropped = בלי חוות דעת שנייה
flip-opinion_asked = עכשיו עם חוות דעת שנייה
verdict-approve = אישור עמית
fate-confirmed = המשתמש אישר, והפעולה הצליחה
fate-approved = עמית אישר, והפעולה הצליחה
fate-ran = בוצע בלי לשאול והצליח
fate-refused = המשתמש סירב
fate-failed = בוצע ונכשל
fate-unknown = בוצע, ואיש אינו יודע איך הסתיים
fate-unanswered = השאלה לא נענתה
fate-held = לא בוצע
needless-known = לחינם: אדם כבר אישר
needless-presumed = כנראה לחינם
needless-detour = המודל יבדוק משהו קודם
versions-title = גרסאות
versions-version = גרסה
versions-do = פעולות
versions-changed = מה השתנה
versions-open = פתיחה בעורך
diff-title = מגרסה { $old } לגרסה { $new }
diff-words = במילים
diff-text = שורה אחר שורה
roll-back = חזרה לגרסה { $number }
roll-back-hint = כדי לראות מה החזרה הייתה עושה לשיחות השמורות, פתחו בעורך ונסו שם:
draft-save = שמירה כטיוטה
draft-save-hint = טיוטה לא משנה דבר. היא ממתינה בתור עד שמנהל מערכת יכניס אותה לתוקף.
draft-two = הלקוח הזה דורש שני אנשים: מי שכתב מדיניות שומר אותה כטיוטה, ומנהל מערכת אחר מכניס אותה לתוקף.
drafts-title = טיוטות ממתינות
draft-unnamed = טיוטה ללא הערה
draft-author = נכתבה על ידי
draft-written-by = נכתבה על ידי { $who }
draft-base = נכתבה על בסיס
draft-older = היא נכתבה על בסיס גרסה { $base }; בינתיים גרסה { $current } בתוקף. מה שמוצג כאן מושווה אליה.
draft-drop = ביטול הטיוטה
draft-is-waiting = ממתינה
draft-is-in_force = בתוקף
draft-is-dropped = בוטלה
draft-done-saved = הטיוטה נשמרה וממתינה בתור. עדיין לא השתנה דבר.
draft-done-dropped = הטיוטה בוטלה.
draft-refused-changed = בינתיים נכנסה לתוקף גרסה אחרת. הנה הטיוטה בהשוואה אליה.
draft-refused-two = אתם כתבתם את הטיוטה הזו: מנהל מערכת אחר צריך להכניס אותה לתוקף.
draft-refused-settled = מישהו הקדים אתכם: הטיוטה כבר לא ממתינה.
draft-refused-unsound = הטיוטה כבר לא מתאימה לכלים של הלקוח, ולא נכנסה לתוקף.
