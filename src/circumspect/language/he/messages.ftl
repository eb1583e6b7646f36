# $action is an infinitive phrase such as "לבטל את הזמנה 12345".

confirm-question = רק לוודא: { $action }? לא ניתן לבטל את הפעולה הזו. נא לענות כן או לא.
confirm-question-write = רק לוודא: { $action }? נא לענות כן או לא.
confirm-again-expired = תשובתך הגיעה אחרי שתוקף השאלה פג, ולכן אשאל שוב: { $action }? נא לענות כן או לא.
confirm-again-mismatch = חשוב לי להיות בטוח למה התכוונת ב״כן״: { $action }? נא לענות כן או לא.
nothing-to-confirm = אין כרגע דבר שממתין לאישורך. מה תרצו שאעשה?
dropped = בסדר, הפעולה לא תבוצע: { $action }. שום דבר לא השתנה.
whole-amount = כל הסכום
whole-amount-of = כל הסכום, { $sum }

ask-missing = כדי { $action } חסרים לי עדיין: { $fields }. אפשר לציין אותם, בבקשה?
ask-missing-unnamed = חסר לי עוד קצת מידע כדי לעשות זאת. אפשר לפרט, בבקשה?
ask-missing-more = כדי { $action } חסר לי עוד קצת מידע. אפשר לפרט, בבקשה?
which-order-id = לאיזו הזמנה הכוונה? נא לכתוב את מספר ההזמנה.
which-email = מהי כתובת האימייל?
which-phone = באיזה מספר טלפון אפשר להשיג אותך?
which-date = באיזה תאריך?
which-time = באיזו שעה נוח לך?
which-name = מה שמך?
which-address = מהי הכתובת?
which-amount = לאיזה סכום הכוונה?
which-product = לאיזה מוצר הכוונה?
which-service = איזה שירות נדרש?
which-quantity = כמה יחידות?
which-reason = מה הסיבה?
which-to = לאיזו כתובת אימייל לשלוח?
which-subject = מה נושא ההודעה? שורה אחת תספיק.
which-body = מה לכתוב בהודעה?
which-sku = לאיזה פריט הכוונה? נא לכתוב את המק״ט.
which-booking-id = לאיזו הזמנת מקום הכוונה? נא לכתוב את המספר שלה.
which-appointment-id = לאיזה תור הכוונה?
which-customer-id = מהו מספר הלקוח?
choose-one = { $question } אפשר לבחור מתוך: { $choices }.
ask-form = בטופס עדיין חסר: { $fields }. אפשר לקבל את הפרטים, בבקשה?
ask-password = בשדה הזה צריך סיסמה, ואותה איני מקליד ואיני רוצה לדעת. נא להתחבר בעצמך. האם כבר התחברת, ואפשר להמשיך?
ask-stuck = ניסיתי זאת בכמה דרכים והדף לא הגיב כצפוי. אפשר לומר לי איך להמשיך, או לבצע את הצעד הזה בעצמך?
page-changed = הדף השתנה מאז ששאלתי, ולכן האישור שלך כבר אינו מתאים לו. דבר לא נשלח. אפשר לומר לי לבדוק שוב.
page-denied = איני יכול להמשיך כאן: הדף אינו מאפשר את הצעד הזה, או שאינו מה שחשבתי. דבר לא נשלח. אפשר לומר לי איך להמשיך?
reason-ask = חסר לי עדיין: { $fields }. אפשר לומר לי, בבקשה?
reason-ask-unsure = אני לא בטוח איך לעשות זאת כאן. אפשר לספר לי עוד על מה שנדרש?
reason-not-searched = לא חיפשתי את זה: שמות, מספרים ומילים אחרות שלך אינם נשלחים למנוע חיפוש, ובלעדיהם לא נשאר מה לחפש. מה לחפש, במילים כלליות, או איך להמשיך?
ask-invalid = אפשר לבדוק את זה, בבקשה: { $problems }?
invalid-field = { $field } { $value } ({ $wanted })
wanted-date = תאריך, למשל 2026-03-31
wanted-time = שעה, למשל 14:30
wanted-email = כתובת דוא״ל
wanted-phone = מספר טלפון
wanted-number = מספר
wanted-choice = אחת מהאפשרויות: { $choices }
wanted-other = בדרך כלל זה נכתב אחרת
wanted-known = זה אינו מתאים למה שידוע לי

tool-unavailable = מצטערים, את זה אי אפשר לעשות כאן.
tool-denied = מצטערים, את זה אי אפשר לעשות.
what-i-can-do = מה שאפשר לעשות: { $actions }.
approval-needed = הפעולה דורשת קודם אישור של נציג נוסף: { $action }. העברתי את הבקשה, ושום דבר לא השתנה בינתיים.
approval-denied = נציג בדק את הבקשה ודחה אותה: { $action }. שום דבר לא השתנה.
with-person = נציג אנושי הצטרף לשיחה ויענה לך כאן.
handed-over = בשמחה. השיחה עוברת לעמית אנושי, שיענה לך כאן.
offer-person = נראה שכך לא נתקדם. להעביר אותך לעמית אנושי? אם אין התנגדות, זה הצעד הבא.
person-declined = בסדר, נמשיך כאן. במה אפשר לעזור?
said-before = זה כבר נאמר כאן, ואולי הבקשה לא הובנה נכון. אפשר לנסח אותה במילים אחרות?
confirm-clearly = לפני הביצוע נדרשת תשובה ברורה, כן או לא.
question-first = שאלה אחת קודם: { $question }
question-unanswered = אין לי תשובה ודאית לכך, ושום דבר לא השתנה. שעמית אנושי יענה?
you-are-welcome = בשמחה. אפשר לפנות לכאן בכל עת.
not-quite-sure = אין לי ודאות מלאה בכך.
escalated = עדיף שאעביר את זה לנציג אנושי, שיחזור אליך כאן. שום דבר לא השתנה.
escalated-after-action = העברתי את ההמשך לנציג אנושי, שיחזור אליך כאן.
not-known = אין לי תשובה על זה, ועדיף לא לנחש. השאלה הועברה לנציג, שיענה לך כאן.

do-not-know = מצטערים, אין לי תשובה על כך.
opening-hours = שעות הפתיחה שלנו: { $hours }
done = בוצע: { $action }.
tool-failed = ניסיתי { $action }, אבל זה לא הצליח. שום דבר לא השתנה.
tool-refused = ניסיתי { $action }, אבל הפעולה נדחתה: { $problem }
colleague-told = נציג עודכן ויחזור אליך כאן.
outcome-unknown = ניסיתי { $action } ולא התקבלה תשובה ברורה, ולכן לא ידוע אם הפעולה בוצעה. לא אנסה שוב בעצמי: נציג יבדוק ויחזור אליך.
not-verified = ניסיתי { $action }. המערכת דיווחה על הצלחה, אך התוצאה אינה נראית. נציג יבדוק ויחזור אליך.
under-way = אני עדיין ממתין לתוצאה של צעד קודם ({ $action }). נציג עודכן, ולא אתחיל אותו פעם שנייה.
interrupted-notice = (הייתה הפסקה באמצע: { $action }. { $state })
told-notice = (נציג בדק: { $action }. { $state })
done-before = זה כבר בוצע: { $action }. לא אבצע זאת פעם שנייה.
state-succeeded = הפעולה בוצעה.
state-failed = הפעולה לא בוצעה.
state-unknown = עדיין לא ידוע אם הפעולה בוצעה; נציג עודכן.

failed-model = מצטערים, אי אפשר לענות כרגע. לא נעשה דבר נוסף. נא לנסות שוב בעוד זמן קצר.
failed-handed-over = מצטערים, יש לנו תקלה טכנית. ההודעה הועברה לנציג, שיענה לך כאן.
failed-store = מצטערים, כרגע אי אפשר לבדוק או לשנות דבר. נא לנסות שוב בעוד זמן קצר.
failed-internal = מצטערים, משהו השתבש אצלנו. לא נעשה דבר נוסף. נא לנסות שוב.
busy = ההודעה הקודמת עדיין בטיפול. נא להמתין רגע ולשלוח שוב.
message-empty = לא התקבל טקסט. במה אפשר לעזור?
message-too-long = ההודעה ארוכה מדי (עד { $limit } תווים). אפשר לשלוח רק את העיקר?
quota-reached = החודש כבר נענו כל ההודעות שהוקצו, ולכן לא נעשה דבר בעקבות ההודעה הזו. אפשר יהיה להמשיך כאן מהראשון בחודש הבא; אם זה דחוף, נא לפנות אלינו ישירות.
claim-replaced = ליתר דיוק: עדיין לא ביצעתי דבר. מה תרצו שאעשה?

chat-offline = מודל הדגמה לא מקוון: הוא מתאים מילים ומצטט את מה שמצא. זה אינו מודל שפה.
chat-try = נסו: אני רוצה לבטל את ההזמנה שלי · איפה הזמנה 12345? · מה מדיניות ההחזרות?
chat-help = ‎/debug מציג את השיקולים, ‎/help מציג את השאר, Ctrl-D ליציאה.

# How a request was understood. What a model understood is put in as data.
understood-heading = כך הבנתי את הפנייה
understood-intent = הפנייה עוסקת בנושא: { $intent }
understood-normal = אבדוק מה אפשר למצוא.
understood-clarify-intro = חשוב לי לוודא שהבנתי נכון.
understood-clarify-outro = אפשר לפרט קצת יותר מה נדרש?
understood-block = נראה שזה לא עניין שאפשר לטפל בו כאן. אשמח לענות על שאלות לגבי { $business }.
understood-guardian = בזה אין באפשרותי לעזור. אם נדרשת עזרה בעניין אחר, אפשר לכתוב לי; בכל דבר דחוף, נא לפנות לאדם.

# Actions on a web page, as imperative phrases. What is in quotes is the page's own wording.
page-click = ללחוץ על „{ $name }”
page-submit = ללחוץ על „{ $name }” בדף { $on }
page-type = להקליד „{ $text }” בשדה „{ $name }”
page-select = לבחור „{ $option }” ברשימה „{ $name }”
page-navigate = לפתוח את { $url }
page-press = להקיש { $key }
page-scroll = לגלול
page-wait = להמתין { $seconds } שניות
page-done = לסיים

# What operators read in an e-mail.
notify-escalation = שיחה ממתינה לטיפול אנושי
notify-approval = פעולה ממתינה לאישור
notify-indeterminate = פעולה הופעלה ולא ידוע כיצד הסתיימה
notify-resolved = פנייה טופלה
notify-body = { $what } ({ $tenant }).
    סיבה: { $why }
    נושא: { $summary }
    שיחה: { $conversation }

# Names of common parameters, for questions. Others are shown as the tool spells them.
field-filled = מולא
field-order-id = מספר הזמנה
field-email = כתובת דוא״ל
field-phone = מספר טלפון
field-date = תאריך
field-time = שעה
field-name = שם
field-amount = סכום
field-address = כתובת
field-service = סוג השירות
field-product = מוצר
field-sku = מק״ט
field-reason = סיבה
field-to = כתובת הנמען
field-subject = נושא
field-body = תוכן ההודעה
field-quantity = כמות
