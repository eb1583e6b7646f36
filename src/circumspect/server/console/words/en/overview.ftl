overview-empty = Nothing has happened in this period. To see the console with sample conversations, run this on the server:
tile-turns = Turns
tile-adaptive = { $share } in adaptive mode
tile-prevented = Wrong actions prevented
tile-prevented-note =
    { $count ->
        [one] of one call that was held
       *[other] of { $count } calls that were held
    }
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
        [one] one escalation
       *[other] { $count } escalations
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
holds-title = What became of held calls
holds-explained = Most held calls are asked about and then run. Prevented are only those that somebody refused, that a rule denied, or that came back with other values.
hold-done = Asked first, then run
hold-refused = Somebody said no
hold-denied = Denied by a rule
hold-corrected = Corrected before it ran
hold-waiting = Waiting, or never answered
hold-prevented = Prevented
held-title = Wrong actions prevented, by reason
held-none = None in this period.
reasons-title = Most frequent reason codes
needs-title = Needs you now
needs-nothing = Nothing waits for a person.
tile-before = from { $value }
tile-points = { $points } points
overview-empty-title = Nothing yet in this period
