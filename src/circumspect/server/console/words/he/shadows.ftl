shadows-title = צללים
shadows-about = תצורה שנייה לצד התורים האמיתיים. היא אינה עושה דבר; מושווה מה שהייתה עושה.
shadows-none = אין עדיין צללים. יוצרים אותם בפקודה בשרת או דרך HTTP.
shadows-new = יצירת צל נוסף
shadows-how = הקלידו בשרת, עם התצורה הרצויה:
shadow-compared = תורים שהושוו
shadow-different = הייתה עושה אחרת
shadow-in-what = במה ההבדל
shadow-turns =
    { $turns ->
        [0] אין עדיין
       *[other] { $turns }, מתוכם { $different } שונים
    }
shadow-share-means = מהתורים מקבלים צל
shadow-dropped =
    { $count ->
        [0] דבר לא הושמט
       *[other] הושמטו { $count }: יותר מדי חיכו
    }
shadow-errors =
    { $count ->
        [0] תמיד יכלה לענות
       *[other] { $count } פעמים לא יכלה לענות
    }
shadow-cost = עלותה
shadow-tokens = { $tokens } אסימונים
shadow-outcomes = תוצאות
shadow-count = תורים
shadow-list = תורים שונים
shadow-list-all = כל התורים
shadow-only = שונים
shadow-every = הכול
shadow-turn = תור
shadow-same = זהה
shadow-failed = לא יכלה לענות
shadow-all-same = אין הבדל עד כה.
shadow-no-turns = עדיין לא הושווה אף תור.
shadow-both = תור אחד, בשתי דרכים
shadow-conversation = השיחה, מבפנים
shadow-nothing = אין מה להציג.
differs-outcome = החלטה
differs-calls = פעולות
differs-reason_codes = סיבות
differs-verdicts = הכרעות
differs-reply = תשובה
differs-reply-hint = ניסוח אחר לבדו אינו נחשב הבדל
side-live = בפועל
side-live-hint = מה שבאמת קרה.
side-shadow = צל
side-shadow-hint = מה שהיה קורה. דבר מזה לא קרה.
side-no-calls = ללא קריאה.
side-would = הייתה מריצה
side-pending = הייתה מבקשת אישור ל־
side-unknown = רצתה לברר, ואיש אינו יודע את התשובה
side-no-reply = ללא מילים: התור נגמר בקריאה.
