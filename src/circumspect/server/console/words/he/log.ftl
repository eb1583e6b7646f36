nav-log = יומן פעולות
log-by = מי
log-action = מה
log-result = תוצאה
log-done = בוצע
log-refused = נדחה
log-since = מתאריך
log-until = עד תאריך
log-rows = מה אנשים עשו
log-none = לא נמצא דבר
log-none-hint = כל מה שמפעיל משנה נמצא כאן: מי, מתי ומה. הסירו מסנן כדי לראות יותר.
log-at = מתי
log-subject = על מה
log-origin = מאיפה
log-detail = פרטים
log-csv = הורדת CSV
log-chain = השרשרת
log-chain-hint = כל שורה חתומה אל השורה שלפניה. הבדיקה קוראת את כולן ומציינת את הראשונה ששונתה, הוצאה או הוזזה. כדאי לשמור את ראש השרשרת במקום אחר.
log-check = בדיקת היומן
log-whole = היומן שלם: { $rows } שורות, חתום עד שורה { $signed }. ראש השרשרת:
log-broken = שורה { $row } אינה מה שנכתב:
log-late = יש יותר מדי שורות לבדיקה כאן. בשרת: circumspect operators log verify
log-behind =
    { $rows ->
        [one] שורה אחת עוד לא נשלחה
       *[other] { $rows } שורות עוד לא נשלחו
    }
log-sent = הכול נשלח
log-sent-nowhere = היומן לא נשלח לשום מקום. לשם כך יש ההגדרות log_syslog ו-log_webhook.
