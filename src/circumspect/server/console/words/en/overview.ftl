overview-empty = Nothing has happened in this period. To see the console with sample conversations, run this on the server:
tile-turns = Turns
tile-adaptive = { $share } in adaptive mode
tile-prevented = Wrong actions prevented
tile-prevented-note = changing calls that the rules held
tile-critique = Second opinions
tile-critique-note =
    { $count ->
        [one] in one turn
       *[other] in { $count } turns
    }
tile-context = Context fetches
tile-context-note = { $average } per turn on average
tile-escalation = Escalation rate
tile-escalation-note =
    { $count ->
        [one] one turn handed to a person
       *[other] { $count } turns handed to a person
    }
tile-tokens = Tokens per turn
tile-tokens-note = standard mode: about { $standard }
tile-cost = Cost per turn
tile-cost-note = standard mode: about { $standard }
chart-outcomes = What turns came to
chart-parts = Outcomes
chart-cost = Cost per turn (USD)
chart-cost-tokens = Tokens per turn
cost-ours = As it was
cost-standard = Standard mode (estimate)
cost-how = How is this estimated?
cost-explained = For each adaptive turn, the calls that only adaptive mode makes (second opinions, context rounds) are left out, and every call that remains carries the whole business context and all tool schemas, counted from the tenant's own texts at four characters to a token. Longer histories, which standard mode also sends, are not counted.
held-title = Wrong actions prevented, by reason
held-none = None in this period.
reasons-title = Most frequent reason codes
