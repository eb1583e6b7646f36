approval-title = Approval
approval-waiting = Waiting
approval-all = All
approvals-none = No call waits for approval
approvals-none-hint = A tool with confirm: four_eyes in its policy stops here until a colleague says yes to exactly that call.
col-call = Call
exactly = Exactly this will run
approve = Approve and run
deny = Deny
edit = Change arguments…
edit-title = Change the arguments of
edit-label = Arguments (JSON)
edit-hint = The changed call goes through the rules again. If they let it, it waits for an approval of its own.
edit-send = Put before the rules
edit-nothing = Nothing is changed.
edit-nothing-fix = Change a value, or approve or deny the call as it is.
how-it-came = How it came about
expires = Waits until
settled-by = Decided by
fingerprint = Fingerprint
policy-version = Policy version
intent-pending = waiting
intent-consumed = approved
intent-denied = denied
intent-superseded = superseded
intent-collected = settled
intent-expired = expired
decided-acted = It ran, exactly as shown.
decided-answered = Decided.
decided-asked = Changed: this is the new call. Somebody else has to approve it.
decided-anew = It is not quite what was asked about any more, so it is asked anew. Look at it as it is now.
decided-escalated = It could not be settled and was handed to a person.
decided-blocked = The rules do not allow it now; nothing ran.
decided-failed = It failed; see the conversation for what happened.
approval-late = { $state ->
    [consumed] Already decided: approved by { $who } at { $when }.
    [denied] Already decided: denied by { $who } at { $when }.
    [superseded] Already decided: changed by { $who } at { $when }. The changed call is asked about by itself.
   *[other] Already decided by { $who } at { $when }.
 }
approval-gone = It does not wait any more. This is how it stands now.
exactly-was = Exactly this was asked for
approval-own = You proposed or changed this call, so somebody else has to approve it.
left-open = left open
edit-changed = changed
asked-by = Asked by
asked-by-nobody = somebody who did not say who they are
proposed-by = Proposed by
edited-by = Changed by
rests-on = What it rests on
edit-wrong = “{ $name }” is not written as the tool takes it. The approval waits as it was.
edit-wrong-call = The tool does not take this call. The approval waits as it was.
decided-denied = Denied; nothing ran.
