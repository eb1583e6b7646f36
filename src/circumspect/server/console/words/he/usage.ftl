nav-usage = שימוש
usage-csv = הורדת CSV
usage-by = לפי
usage-by-period = חודש
usage-by-tenant = לקוח
usage-by-model = מודל
usage-by-mode = מצב
usage-none = לא היה שימוש בתקופה הזאת.
usage-messages = הודעות
usage-adaptive = הודעות במצב מסתגל
usage-of-messages =
    { $count ->
        [one] מתוך הודעה אחת
       *[other] מתוך { $count } הודעות
    }
usage-critiques = חוות דעת שנייה
usage-critiques-share = { $share } מההודעות במצב מסתגל
usage-critique-rate = שיעור
usage-fetches = שליפות הקשר
usage-fetches-each = { $average } להודעה במצב מסתגל
usage-average = ממוצע
usage-tokens = אסימונים
usage-tokens-note = { $sent } נכנסים, { $back } יוצאים
usage-input = אסימונים נכנסים
usage-output = אסימונים יוצאים
usage-cost = עלות
usage-billed = { $billed } בחשבון
usage-billed-short = חשבון
usage-escalations = העברות לאדם
usage-chart-messages = הודעות לפי חודש
usage-chart-days = הודעות לפי יום
usage-chart-tokens = אסימונים: { $by }
usage-chart-tokens-thousands = אלפי אסימונים: { $by }
usage-chart-tokens-millions = מיליוני אסימונים: { $by }
usage-chart-cost = עלות לפי מודל (דולר): { $by }
usage-others = מודלים אחרים
usage-no-model = בלי מודל
usage-table = השימוש כטבלה
