editor-find = Find
editor-replace = Replace
editor-next = Next
editor-previous = Previous
editor-all = All
editor-match-case = Match case
editor-regexp = Pattern
editor-by-word = Whole words
editor-replace-all = Replace all
editor-close = Close
editor-completions = Suggestions
editor-diagnostics = Findings
editor-no-diagnostics = Nothing found
editor-go-to-line = Go to line
editor-go = Go
editor-fold-line = Fold
editor-unfold-line = Unfold
editor-folded-code = Folded lines
editor-current-match = This one
editor-on-line = on line
editor-replaced-matches = Replaced: $
editor-replaced-match-on-line = Replaced on line $
editor-keys = Ctrl-Space suggests keys, values and tools. Ctrl-F searches, F8 goes to the next finding, Tab indents: press Escape first to leave the field with Tab.

marks-title = Calls of the last { $days } days, by the line that held them
marks-held =
    { $count ->
        [one] held one call
       *[other] held { $count } calls
    }
marks-built-in = The rule holds for every tool; this is where the file speaks of it.
marks-no-line = No line
marks-no-line-hint = The rule holds whatever the file says.
marks-none = Nothing was held.
fate-name-done = asked first, then run
fate-name-refused = the user or a colleague said no
fate-name-denied = denied by a rule
fate-name-corrected = corrected
fate-name-waiting = waiting
held-list-title = Held calls of { $tool }
held-most = the newest { $count }
held-why = Why, and what to do about the next one
held-line = Line { $line } of version { $version }, which was in force
held-built-in = No line of the policy held it: this rule holds whatever the file says.
held-no-version = The policy that was in force then is not stored.
held-others = All calls that this rule held
why-line = Show the line
why-rule = Make a rule of it
amend-let_through = Next time, let this through
amend-hold = Always hold this
amend-none-let_through = No text lets this through: the rule holds whatever a file says, or what it wants is a yes of the user’s.
amend-none-hold = This is held as strictly as a file can.
amend-try = See what it would have done
amend-hint = Each opens in the editor with this one change, and is tried on the stored conversations. Nothing holds before it is put in force.
amend-open = This is the text in force with one change, made of a held call. It is being tried on the stored conversations below. Nothing changes until you put it in force.
amend-call = The call
amend-note = { $tool }: after a held call in { $conversation }
amend-kind-switch_on = Switch { $tool } on again; the user is asked each time
amend-kind-ask_user = Ask the user in place of a colleague
amend-kind-never_ask = Do not ask about { $tool }
amend-kind-except_this = Keep the condition, but not for a call with these values: { $about }
amend-kind-one_more = Raise the limit to { $about }
amend-kind-any_source = { $about } may come from anywhere
amend-kind-always_ask = Ask the user about every call of { $tool }
amend-kind-four_eyes = A colleague approves every call of { $tool }
amend-kind-four_eyes_from = A colleague approves calls with { $about }
amend-kind-four_eyes_for = A colleague approves calls with { $about }
amend-kind-deny_from = Never make calls with { $about }
amend-kind-deny_for = Never make calls with { $about }
loosens-tenant =
    { $count ->
        [0] This loosens the policy of { $tenant }. In the last { $days } days no call was held that it reaches.
        [one] This loosens the policy of { $tenant }. In the last { $days } days one call was held of the tools that it reaches.
       *[other] This loosens the policy of { $tenant }. In the last { $days } days { $count } calls were held of the tools that it reaches.
    }
versions-back = Go back
