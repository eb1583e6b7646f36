customer-title = הסוכן שלך
customer-as-operator = כפי שהלקוח רואה.
customer-key = מפתח API
customer-go = לצפייה
customer-hint = מפתח של העסק שלך עם הרשאת קריאה. הוא מוחלף בצפייה של שעה אחת ואינו נשמר בדפדפן.
customer-refused = המפתח אינו תקף, או שאין לו הרשאת קריאה.
customer-usage = שימוש
customer-empty = דבר לא קרה בתקופה הזו.
customer-messages = הודעות שנענו
customer-acted = בוצעו עבור הלקוחות
customer-acted-note = הזמנות, תורים וכדומה
customer-escalated = הועברו לאדם
customer-days = הודעות לפי יום
customer-reasoning = באיזו זהירות הוא עובד
customer-adaptive = נענו במצב מסתגל
customer-critiques = חוות דעת שנייה
customer-context = שליפות מידע
customer-context-note = { $average } להודעה
customer-held = פעולות שגויות שנמנעו
customer-held-note =
    { $count ->
        [one] מתוך קריאה אחת שנעצרה
       *[other] מתוך { $count } קריאות שנעצרו
    }
customer-months = לפי חודש
customer-month = חודש
customer-tokens = אסימונים
customer-billed = בחשבון
customer-quota = הודעות החודש
customer-quota-of = { $used } מתוך { $quota }
customer-quota-left = נותרו { $left } עד { $day }
customer-quota-reached = כולן נוצלו. הסוכן יענה שוב על הודעות חדשות החל ב־{ $day }; מי שמבקש לדבר עם אדם עדיין מועבר אליו.
customer-search = מילים, שיחה או אדם
customer-none = אין שיחה כזו.
