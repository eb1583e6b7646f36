customer-title = Your agent
customer-as-operator = As the customer sees it.
customer-key = API key
customer-go = Look
customer-hint = A key of your business that may read. It is exchanged for a look of one hour and is not kept in this browser.
customer-refused = This key is not valid, or it may not read.
customer-usage = Usage
customer-empty = Nothing happened in this period.
customer-messages = Messages answered
customer-acted = Done for your customers
customer-acted-note = orders, bookings and the like
customer-escalated = Handed to a person
customer-days = Messages by day
customer-reasoning = How carefully it works
customer-adaptive = Answered in adaptive mode
customer-critiques = Second opinions
customer-context = Look-ups
customer-context-note = { $average } per message
customer-held = Wrong actions prevented
customer-held-note =
    { $count ->
        [one] of one call that was held
       *[other] of { $count } calls that were held
    }
customer-months = By month
customer-month = Month
customer-tokens = Tokens
customer-billed = On the bill
customer-quota = Messages of this month
customer-quota-of = { $used } of { $quota }
customer-quota-left = { $left } left until { $day }
customer-quota-reached = All of them are used. The agent answers new messages again from { $day } on; whoever asks for a person still gets one.
customer-search = Words, conversation or person
customer-none = There is no such conversation.
