editor-find = חיפוש
editor-replace = החלפה
editor-next = הבא
editor-previous = הקודם
editor-all = הכול
editor-match-case = אותיות גדולות וקטנות
editor-regexp = תבנית
editor-by-word = מילים שלמות
editor-replace-all = החלפת הכול
editor-close = סגירה
editor-completions = הצעות
editor-diagnostics = ממצאים
editor-no-diagnostics = לא נמצא דבר
editor-go-to-line = מעבר לשורה
editor-go = מעבר
editor-fold-line = קיפול
editor-unfold-line = פתיחה
editor-folded-code = שורות מקופלות
editor-current-match = זה
editor-on-line = בשורה
editor-replaced-matches = הוחלפו: $
editor-replaced-match-on-line = הוחלף בשורה $
editor-keys = Ctrl-Space מציע מפתחות, ערכים וכלים. Ctrl-F מחפש, F8 עובר לממצא הבא, Tab מזיח: כדי לצאת מהשדה ב-Tab הקישו קודם Escape.

marks-title = קריאות של { $days } הימים האחרונים, לפי השורה שעצרה אותן
marks-held =
    { $count ->
        [one] עצרה קריאה אחת
       *[other] עצרה { $count } קריאות
    }
marks-built-in = הכלל חל על כל כלי; כאן הקובץ מדבר עליו.
marks-no-line = בלי שורה
marks-no-line-hint = הכלל חל, מה שלא יהיה כתוב בקובץ.
marks-none = דבר לא נעצר.
fate-name-done = נשאל קודם, ואז בוצע
fate-name-refused = המשתמש או עמית סירבו
fate-name-denied = נדחה על ידי כלל
fate-name-corrected = תוקן
fate-name-waiting = ממתין
held-list-title = קריאות שנעצרו של { $tool }
held-most = { $count } החדשות ביותר
held-why = למה, ומה לעשות בפעם הבאה
held-line = שורה { $line } בגרסה { $version }, שהייתה בתוקף
held-built-in = שום שורה במדיניות לא עצרה אותה: הכלל הזה חל בכל מקרה.
held-no-version = המדיניות שהייתה אז בתוקף אינה שמורה.
held-others = כל הקריאות שהכלל הזה עצר
why-line = הצגת השורה
why-rule = ליצור מזה כלל
amend-let_through = בפעם הבאה לאפשר
amend-hold = תמיד לעצור
amend-none-let_through = אין נוסח שמאפשר זאת: הכלל חל בכל מקרה, או שנדרש כן של המשתמש.
amend-none-hold = זה נעצר בחומרה הרבה ביותר שקובץ מאפשר.
amend-try = מה זה היה עושה
amend-hint = כל אפשרות נפתחת בעורך עם השינוי האחד הזה ומנוסה על שיחות שמורות. דבר אינו תקף לפני שהוא נכנס לתוקף.
amend-open = זה הנוסח שבתוקף עם שינוי אחד, שנוצר מקריאה שנעצרה. הוא מנוסה למטה על השיחות השמורות. דבר לא משתנה עד שתכניסו אותו לתוקף.
amend-call = הקריאה
amend-note = { $tool }: אחרי קריאה שנעצרה בשיחה { $conversation }
amend-kind-switch_on = להפעיל שוב את { $tool }; המשתמש נשאל בכל פעם
amend-kind-ask_user = לשאול את המשתמש במקום עמית
amend-kind-never_ask = לא לשאול על { $tool }
amend-kind-except_this = להשאיר את התנאי, אבל לא לקריאה עם הערכים האלה: { $about }
amend-kind-one_more = להעלות את המגבלה ל־{ $about }
amend-kind-any_source = { $about } יכול לבוא מכל מקום
amend-kind-always_ask = לשאול את המשתמש על כל קריאה של { $tool }
amend-kind-four_eyes = עמית מאשר כל קריאה של { $tool }
amend-kind-four_eyes_from = עמית מאשר קריאות עם { $about }
amend-kind-four_eyes_for = עמית מאשר קריאות עם { $about }
amend-kind-deny_from = לעולם לא לבצע קריאות עם { $about }
amend-kind-deny_for = לעולם לא לבצע קריאות עם { $about }
loosens-tenant =
    { $count ->
        [0] זה מקל במדיניות של { $tenant }. ב־{ $days } הימים האחרונים לא נעצרה קריאה שזה נוגע לה.
        [one] זה מקל במדיניות של { $tenant }. ב־{ $days } הימים האחרונים נעצרה קריאה אחת של הכלים שזה נוגע להם.
       *[other] זה מקל במדיניות של { $tenant }. ב־{ $days } הימים האחרונים נעצרו { $count } קריאות של הכלים שזה נוגע להם.
    }
versions-back = חזרה
