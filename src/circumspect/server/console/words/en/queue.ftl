nav-queue = Queue
queue-all = Everything
queue-kind = Kind
queue-escalation = Other escalations
queue-unknown = Unknown outcomes
queue-approval = Approvals
queue-delivery = Not delivered
queue-is-escalation = escalation
queue-is-unknown = unknown outcome
queue-is-approval = approval
queue-is-delivery = not delivered
queue-draft = Policy drafts
queue-is-draft = policy draft
queue-drafted = New policy by { $who }
queue-holder = Assigned to
queue-anybody = Anybody
queue-mine = Me
queue-nobody = Nobody
queue-snoozed = Put off
queue-none = Nothing waits for you
queue-none-hint = Escalations, approvals, calls with an unknown outcome and deliveries that failed come here by themselves, the oldest on top.
queue-through = You are through: nothing else waits in this part of the queue.
queue-undelivered = Nobody heard of it: { $to }
queue-back = Comes back
work-title = Who sees to it
work-mine = Assign to me
work-assign-to = Assign to
work-assign = Assign
work-snooze-for = Put off for
work-snooze = Put off
work-wake = Bring back now
work-notes = Internal notes
work-no-notes = None yet. Users never see them.
work-note = A note for colleagues
work-note-add = Add the note
work-next = Next item
work-previous = Previous
known-title = What is known of it now
known-nothing = No tool of this tenant's reads what this call is about.
bulk-title = With those marked
bulk-all = Mark all of this page
bulk-mark = Mark
bulk-did-assign =
    { $count ->
        [0] Nothing was assigned.
        [one] One item was assigned.
       *[other] { $count } items were assigned.
    }
bulk-did-snooze =
    { $count ->
        [0] Nothing was put off.
        [one] One item was put off.
       *[other] { $count } items were put off.
    }
bulk-did-resolve =
    { $count ->
        [0] Nothing was resolved.
        [one] One escalation was resolved.
       *[other] { $count } escalations were resolved.
    }
bulk-left =
    { $count ->
        [one] One is as it was: open it to see why.
       *[other] { $count } are as they were: open them to see why.
    }
queue-expires = expires
