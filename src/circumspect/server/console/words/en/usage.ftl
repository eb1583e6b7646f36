nav-usage = Usage
usage-csv = Download CSV
usage-by = By
usage-by-period = Month
usage-by-tenant = Tenant
usage-by-model = Model
usage-by-mode = Mode
usage-none = Nothing was used in this period.
usage-messages = Messages
usage-adaptive = Adaptive messages
usage-of-messages =
    { $count ->
        [one] of one message
       *[other] of { $count } messages
    }
usage-critiques = Second opinions
usage-critiques-share = { $share } of adaptive messages
usage-critique-rate = Share
usage-fetches = Context fetches
usage-fetches-each = { $average } per adaptive message
usage-average = Average
usage-tokens = Tokens
usage-tokens-note = { $sent } in, { $back } out
usage-input = Tokens in
usage-output = Tokens out
usage-cost = Cost
usage-billed = { $billed } on the bill
usage-billed-short = Bill
usage-escalations = Escalations
usage-chart-messages = Messages by month
usage-chart-days = Messages by day
usage-chart-tokens = Tokens: { $by }
usage-chart-tokens-thousands = Thousands of tokens: { $by }
usage-chart-tokens-millions = Millions of tokens: { $by }
usage-chart-cost = Cost by model (USD): { $by }
usage-others = other models
usage-no-model = no model
usage-table = Usage as a table
