find-title = Find
find-what = A page, a tenant, a policy, a conversation: its name, its id, its words
find-pages = Pages
find-tenants = Tenants
find-policies = Policies
find-policy = Policy of { $name }
find-count =
    { $count ->
        [0] Nothing was found.
        [one] One was found.
       *[other] { $count } were found.
    }
find-keys = Arrows choose, Enter opens, Esc closes.
keyboard-title = The keyboard
keys-j = next in the list, or next item
keys-k = previous
keys-x = mark it
keys-enter = open what is chosen
keys-y = approve, or take over; asks before it does
keys-n = deny, or resolve; asks before it does
keys-e = answer, or change the arguments
keys-a = assign to me
keys-find = find anything
keys-help = this list
keys-yes = Yes
close = Close
