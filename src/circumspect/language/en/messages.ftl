# What the agent says by itself, without a model. $action is an imperative phrase such as "cancel order 12345".

confirm-question = Just to confirm: you want me to { $action }? This cannot be undone. Please answer yes or no.
confirm-question-write = Just to confirm: shall I { $action }? Please answer yes or no.
confirm-again-expired = Your answer came after the question had expired, so I would rather ask again: shall I { $action }? Please answer yes or no.
confirm-again-mismatch = I want to be sure what your yes was for: shall I { $action }? Please answer yes or no.
nothing-to-confirm = There is nothing waiting for your confirmation right now. What would you like me to do?
dropped = All right, I will not { $action }. Nothing was changed.
whole-amount = the whole amount
whole-amount-of = the whole amount, { $sum }

ask-missing = To { $action } I still need: { $fields }. Could you tell me, please?
ask-missing-unnamed = I need a little more information before I can do that. Could you tell me more, please?
ask-missing-more = To { $action } I need a little more information. Could you tell me more, please?
which-order-id = Which order do you mean? Please tell me the order number.
which-email = Which e-mail address is it?
which-phone = Which phone number can we reach you at?
which-date = Which date would you like?
which-time = What time would suit you?
which-name = What is your name?
which-address = What is the address?
which-amount = Which amount do you mean?
which-product = Which product do you mean?
which-service = Which service would you like?
which-quantity = How many would you like?
which-reason = What is the reason?
which-to = Which e-mail address should it go to?
which-subject = What is it about? One line will do.
which-body = What should the message say?
which-sku = Which article do you mean? Please tell me its number.
which-booking-id = Which booking do you mean? Please tell me its number.
which-appointment-id = Which appointment do you mean?
which-customer-id = What is your customer number?
choose-one = { $question } You can choose from: { $choices }.
ask-form = The form still needs: { $fields }. Could you tell me, please?
ask-password = This field takes a password, which I neither type nor want to know. Please sign in yourself. Are you in, and shall I go on?
ask-stuck = I have tried this in several ways and the page did not respond as expected. Could you tell me how you would go on, or do this step yourself?
page-changed = The page has changed since I asked, so your yes does not fit it any more. Nothing was sent. Tell me if I should look again.
page-denied = I cannot go on here: the page does not allow this step, or is not what I took it for. Nothing was sent. Could you tell me how to go on?
reason-ask = I still need: { $fields }. Could you tell me, please?
reason-ask-unsure = I am not sure how to do that here. Could you tell me more about what you need?
reason-not-searched = I have not looked this up: a search engine gets no names, numbers or other words of yours, and without them nothing is left to search for. What should I look up, in general words, or how shall I go on?
ask-invalid = Could you check this with me, please: { $problems }?
invalid-field = { $field } { $value } ({ $wanted })
wanted-date = a date such as 2026-03-31
wanted-time = a time such as 14:30
wanted-email = an e-mail address
wanted-phone = a phone number
wanted-number = a number
wanted-choice = one of: { $choices }
wanted-other = this is not how it is usually written
wanted-known = this does not fit what I know; please check

tool-unavailable = I am sorry, I cannot do that here.
tool-denied = I am sorry, I cannot do that.
what-i-can-do = What I can do: { $actions }.
approval-needed = A colleague has to approve this first: { $action }. I have passed it on and nothing has been changed yet.
approval-denied = A colleague looked at this and declined it: { $action }. Nothing was changed.
with-person = A colleague has joined this conversation and will answer you here.
handed-over = Of course. I am passing you to a colleague, who will answer you here.
offer-person = I am not getting any further with this. Shall I pass you to a colleague? If you do not object, I will do that next.
person-declined = All right, then we stay with it here. What can I do for you?
said-before = I have said this before, so perhaps I have not understood you. Please tell me in other words what you need.
confirm-clearly = I need a clear yes or no before I do this.
question-first = One question first: { $question }
question-unanswered = I cannot answer that with certainty, and I have not changed anything. Would you like a colleague to answer it?
you-are-welcome = You are welcome. I am here if you need anything else.
not-quite-sure = I am not quite sure of this.
escalated = I would rather hand this over to a colleague, who will get back to you here. Nothing has been changed.
escalated-after-action = I have handed the rest over to a colleague, who will get back to you here.
not-known = I do not know that, and I would rather not guess. A colleague has your question and will answer you here.

do-not-know = I am sorry, I do not know that.
opening-hours = Our opening hours: { $hours }
done = Done: { $action }.
tool-failed = I tried to { $action }, but it did not work. Nothing was changed.
tool-refused = I tried to { $action }, but it was refused: { $problem }
colleague-told = A colleague has been told and will get back to you here.
outcome-unknown = I tried to { $action } and did not get a clear answer, so I do not know whether it went through. I will not try again by myself: a colleague will check and get back to you.
not-verified = I tried to { $action }. The system reported success, but I cannot see the effect. A colleague will check and get back to you.
under-way = I am still waiting for the outcome of an earlier step ({ $action }). A colleague has been told; I will not start it a second time.
interrupted-notice = (I was interrupted before: { $action }. { $state })
told-notice = (A colleague looked into it: { $action }. { $state })
done-before = This was done already: { $action }. I will not do it a second time.
state-succeeded = It went through.
state-failed = It did not go through.
state-unknown = Whether it went through is not known yet; a colleague has been told.

failed-model = I am sorry, I cannot answer at the moment. Nothing further was done. Please try again in a little while.
failed-handed-over = I am sorry, I am having technical difficulties. A colleague has your message and will answer you here.
failed-store = I am sorry, I cannot look things up or change anything at the moment. Please try again in a little while.
failed-internal = I am sorry, something went wrong on our side. Nothing further was done. Please try again.
busy = I am still working on your previous message. Please wait a moment and send this one again.
message-empty = I did not get any text. What can I do for you?
message-too-long = That message is too long for me (at most { $limit } characters). Could you send the important part?
quota-reached = I have answered as many messages as I may this month, so I did nothing with this one. I can help again from the first of next month; if it cannot wait, please contact us directly.
claim-replaced = To be exact: I have not done anything yet. What would you like me to do?

chat-offline = Offline demo model: it matches words and quotes what it finds. It is not a language model.
chat-try = Try: cancel my order · where is order 12345? · what is your return policy?
chat-help = /debug shows the reasoning, /help lists the rest, Ctrl-D leaves.

# How a request was understood. What a model understood is put in as data.
understood-heading = How I understood your request
understood-intent = You wrote about: { $intent }
understood-normal = Let me see what I can find.
understood-clarify-intro = I want to be sure that I understand you.
understood-clarify-outro = Could you tell me a little more about what you need?
understood-block = This does not seem to be something that I can help with here. I am happy to answer questions about { $business }.
understood-guardian = I cannot help with this. If you need help with something else, please tell me; for anything urgent, please turn to a person.

# Actions on a web page, as imperative phrases. What is in quotes is the page's own wording.
page-click = click “{ $name }”
page-submit = press “{ $name }” on { $on }
page-type = type “{ $text }” into “{ $name }”
page-select = choose “{ $option }” in “{ $name }”
page-navigate = open { $url }
page-press = press the key { $key }
page-scroll = scroll the page
page-wait = wait { $seconds } s
page-done = finish

# What operators read in an e-mail.
notify-escalation = A conversation needs a person
notify-approval = A call waits for approval
notify-indeterminate = A call was made and nobody knows how it ended
notify-resolved = An escalation was resolved
notify-body = { $what } ({ $tenant }).
    Why: { $why }
    About: { $summary }
    Conversation: { $conversation }

# Names of common parameters, for questions. Others are shown as the tool spells them.
field-filled = filled in
field-order-id = order number
field-email = e-mail address
field-phone = phone number
field-date = date
field-time = time
field-name = name
field-amount = amount
field-address = address
field-service = service
field-product = product
field-sku = article number
field-reason = reason
field-to = recipient's address
field-subject = subject
field-body = text of the message
field-quantity = quantity
