# $action is an infinitive phrase such as "отменить заказ 12345".

confirm-question = Подтвердите, пожалуйста: { $action }? Это действие нельзя отменить. Ответьте «да» или «нет».
confirm-question-write = Подтвердите, пожалуйста: { $action }? Ответьте «да» или «нет».
confirm-again-expired = Ваш ответ пришёл, когда срок вопроса уже истёк, поэтому спрошу ещё раз: { $action }? Ответьте «да» или «нет».
confirm-again-mismatch = Хочу убедиться, к чему относилось ваше «да»: { $action }? Ответьте «да» или «нет».
nothing-to-confirm = Сейчас ничего не ожидает вашего подтверждения. Что нужно сделать?
dropped = Хорошо, не буду: { $action }. Ничего не изменилось.

ask-missing = Чтобы { $action }, мне ещё нужно: { $fields }. Подскажите, пожалуйста?
ask-missing-unnamed = Для этого мне не хватает сведений. Расскажите, пожалуйста, подробнее?
ask-form = В форме ещё не заполнено: { $fields }. Подскажите, пожалуйста?
ask-password = Это поле для пароля: я его не ввожу и не хочу знать. Пожалуйста, войдите сами и затем скажите мне продолжать.
ask-stuck = Я попробовал несколько способов, но страница не отвечает как ожидалось. Подскажите, как продолжить, или выполните этот шаг сами?
reason-ask = Мне ещё нужно: { $fields }. Подскажите, пожалуйста.
reason-ask-unsure = Я не уверен, как это здесь сделать. Расскажите, пожалуйста, подробнее, что нужно.
ask-invalid = Кое-что пока не сходится. Проверьте, пожалуйста: { $problems }?
invalid-field = { $field } ({ $wanted })
wanted-date = дата, например 2026-03-31
wanted-time = время, например 14:30
wanted-email = адрес электронной почты
wanted-phone = номер телефона
wanted-number = число
wanted-choice = одно из: { $choices }
wanted-other = значение не в том виде, который нужен
wanted-ungrounded = я не нахожу этого в том, что вы сообщили
wanted-known = это не сходится с тем, что мне известно

tool-unavailable = К сожалению, здесь я этого сделать не могу.
tool-denied = К сожалению, я не могу этого сделать.
what-i-can-do = Что я могу: { $actions }.
approval-needed = Это сначала должен одобрить мой коллега: { $action }. Я передал запрос; пока ничего не изменилось.
approval-denied = Коллега рассмотрел запрос и отклонил его: { $action }. Ничего не изменилось.
with-person = К разговору подключился сотрудник, он ответит вам здесь.
escalated = Лучше я передам это коллеге, он ответит вам здесь. Ничего не изменилось.
escalated-after-action = Остальное я передал коллеге, он ответит вам здесь.

done = Готово: { $action }.
tool-failed = Не удалось { $action }. Ничего не изменилось.
tool-refused = Не удалось { $action }, в этом отказано: { $problem }
outcome-unknown = Я попытался { $action }, но ясного ответа не получил, поэтому неизвестно, выполнено ли это. Сам я пробовать снова не буду: коллега проверит и ответит вам.
not-verified = Я попытался { $action }. Система сообщила об успехе, но результата не видно. Коллега проверит и ответит вам.
under-way = Я всё ещё жду результата предыдущего шага ({ $action }). Коллега предупреждён; второй раз я его не начну.
interrupted-notice = (Ранее работа прервалась: { $action }. { $state })
state-succeeded = Действие выполнено.
state-failed = Действие не выполнено.
state-unknown = Пока неизвестно, выполнено ли действие; коллега предупреждён.

failed-model = Извините, сейчас я не могу ответить. Ничего не изменилось. Попробуйте, пожалуйста, чуть позже.
failed-store = Извините, сейчас я не могу ничего посмотреть или изменить. Попробуйте, пожалуйста, чуть позже.
failed-internal = Извините, у нас что-то пошло не так. Больше ничего не сделано. Попробуйте, пожалуйста, ещё раз.
busy = Я ещё работаю над вашим предыдущим сообщением. Подождите немного и отправьте это ещё раз.
message-empty = Текста в сообщении нет. Чем могу помочь?
message-too-long = Сообщение слишком длинное (не больше { $limit } знаков). Пришлите, пожалуйста, самое важное?
claim-replaced = Уточню: я пока ничего не сделал. Что нужно сделать?

chat-offline = Автономная демонстрационная модель: она сопоставляет слова и цитирует найденное. Это не языковая модель.
chat-try = Попробуйте: отмените мой заказ · где заказ 12345? · какие у вас условия возврата?
chat-help = /debug показывает ход рассуждений, /help — остальное, Ctrl-D — выход.

# How a request was understood. What a model understood is put in as data.
understood-heading = Как я понял ваш запрос
understood-intent = Ваш запрос: { $intent }
understood-normal = Сейчас посмотрю, что можно найти.
understood-clarify-intro = Хочу убедиться, что правильно вас понимаю.
understood-clarify-outro = Не могли бы вы немного подробнее рассказать, что вам нужно?
understood-block = Похоже, здесь я с этим помочь не могу. С удовольствием отвечу на вопросы о { $business }.
understood-guardian = С этим я помочь не могу. Если нужна помощь в другом, напишите; по срочным вопросам, пожалуйста, обратитесь к человеку.

# Actions on a web page, as imperative phrases. What is in quotes is the page's own wording.
page-click = нажать «{ $name }»
page-submit = нажать «{ $name }» на { $on }
page-type = ввести «{ $text }» в поле «{ $name }»
page-select = выбрать «{ $option }» в списке «{ $name }»
page-navigate = открыть { $url }
page-press = нажать клавишу { $key }
page-scroll = прокрутить
page-wait = подождать { $seconds } с
page-done = завершить

# What operators read in an e-mail.
notify-escalation = Разговор ждёт сотрудника
notify-approval = Действие ждёт одобрения
notify-indeterminate = Действие начато, и чем оно кончилось, неизвестно
notify-resolved = Обращение закрыто
notify-body = { $what } ({ $tenant }).
    Причина: { $why }
    О чём: { $summary }
    Разговор: { $conversation }

# Names of common parameters, for questions. Others are shown as the tool spells them.
field-filled = заполнено
field-order-id = номер заказа
field-email = адрес электронной почты
field-phone = номер телефона
field-date = дата
field-time = время
field-name = имя
field-amount = сумма
field-address = адрес
field-service = услуга
field-product = товар
field-sku = артикул
field-reason = причина
field-quantity = количество
