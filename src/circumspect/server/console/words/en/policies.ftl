nav-policies = Policies
policies-hint = What each tenant's agent may do. Every version is kept.
policy-in-force = In force
policy-by = By
policy-note = Note
policy-since = Since
policy-number = version { $number }
policy-none = No policy: what the tools declare about themselves holds.
policy-of = Policy of { $tenant }
policy-text = Policy file
policy-note-hint = What and why, for your colleagues
policy-save = Put in force
policy-save-hint = Try it on stored conversations first. A new version holds from the next message on; going back is one click.
policy-readonly = Only administrators change policies.
policy-done-saved = The new version is in force.
policy-done-same = Nothing was changed: this text is in force already.
policy-done-back = The earlier text is in force again, as a new version.
policy-begun = This is the text of version { $number }. Nothing changes until you put it in force.
policy-quicker = { $by } was quicker: version { $current } came while you worked on version { $seen }.
policy-quicker-fix = Nothing was overwritten, and your text is still below. Take over what you need of theirs, shown here, and put yours in force again: it then replaces
policy-sound = The file is sound.
policy-warned = The file can be put in force, but look at this:
policy-unsound =
    { $count ->
        [one] One mistake: the file cannot be put in force like this.
       *[other] { $count } mistakes: the file cannot be put in force like this.
    }
finding-line = Line { $number }
finding-error = mistake
finding-warning = look
checked-title = As you type
changes-title = What it changes
changes-none = No change in what is decided.
direction-loosened = loosened
direction-tightened = tightened
direction-look = look at it
told-title = What happens to a call
told-none = Correct the mistakes first.
trial-title = Tried on stored conversations
trial-hint = Every stored decision is made again under the text above. No model is asked, no tool is called, nothing is written.
trial-most = Conversations, at most
trial-run = Try it
trial-stop = Stop
trial-progress = { $done } of { $of } conversations
trial-old = You have typed since: this is about an earlier text. Try it again.
trial-lost = The connection was lost. Try it again.
trial-unsound = Correct the mistakes first; then it can be tried.
trial-empty = There are no stored conversations to try it on yet.
trial-looked =
    { $calls ->
        [one] One proposed call
       *[other] { $calls } proposed calls
    } in { $conversations ->
        [one] one conversation
       *[other] { $conversations } conversations
    } decided again.
trial-cut = The time ran out: there would be { $of } conversations.
trial-unreplayed =
    { $count ->
        [one] One call cannot be replayed, and is left out.
       *[other] { $count } calls cannot be replayed, and are left out.
    }
trial-against = Compared with version { $version }, which is in force, over the same stored calls.
trial-against-stored = Compared with what was decided then: no version is in force.
trial-details = One by one
trial-why-gone = A part of the conversation is not stored.
trial-fix-gone = Keep conversations longer (retention), or try fewer of them.
trial-why-page = It was decided about a web page, and pages are not kept.
trial-fix-page = Play the task again on the page.
trial-why-journal = Another release wrote what was decided.
trial-fix-journal = Try newer conversations only.
trial-why-tools = The tool is gone, or has other parameters now.
trial-fix-tools = Put the former definition back, or try what was decided since it changed.
trial-why-differs = Rules of the application, or settings that have changed since, had a say.
trial-fix-differs = Ask them again from Python.
trial-same = Nothing would be decided otherwise than under the version in force.
trial-loosened =
    { $count ->
        [one] One call would be held less strictly than it was.
       *[other] { $count } calls would be held less strictly than they were.
    }
trial-change = What changes
trial-rule = The rule that speaks, or no longer does
trial-calls = Calls
trial-needless = Needless
trial-questions = Questions to people: { $then } under the version in force, { $now } with this text.
trial-examples = Examples
flip-let_through = now let through
flip-looser = held more mildly
flip-held = now held
flip-stricter = held more strictly
flip-opinion_dropped = no second opinion any more
flip-opinion_asked = now with a second opinion
verdict-approve = approval
fate-confirmed = the user said yes, and it succeeded
fate-approved = a colleague approved it, and it succeeded
fate-ran = it ran unasked and succeeded
fate-refused = the user said no
fate-failed = it ran and failed
fate-unknown = it ran, and nobody knows how it ended
fate-unanswered = the question was never answered
fate-held = it did not run
needless-known = needless: a person had said yes
needless-presumed = needless, it seems
needless-detour = the model would look something up first
versions-title = Versions
versions-version = Version
versions-do = Actions
versions-changed = What changed
versions-open = Open in the editor
diff-title = From version { $old } to version { $new }
diff-words = In words
diff-text = Line by line
roll-back = Go back to version { $number }
roll-back-hint = To see what going back would have done to stored conversations, open it in the editor and try it there:
draft-save = Save as a draft
draft-save-hint = A draft changes nothing. It waits in the queue until an administrator puts it in force.
draft-two = This tenant asks for two people: whoever wrote a policy saves it as a draft, and another administrator puts it in force.
drafts-title = Drafts that wait
draft-unnamed = Draft without a note
draft-author = Written by
draft-written-by = written by { $who }
draft-base = Written on top of
draft-older = It was written on top of version { $base }; by now version { $current } is in force. What you see is compared with that one.
draft-drop = Drop the draft
draft-is-waiting = waiting
draft-is-in_force = in force
draft-is-dropped = dropped
draft-done-saved = The draft is saved, and waits in the queue. Nothing has changed yet.
draft-done-dropped = The draft was dropped.
draft-refused-changed = Another version was put in force meanwhile. Here is the draft compared with that one.
draft-refused-two = You wrote this draft: another administrator has to put it in force.
draft-refused-settled = Somebody was quicker: the draft does not wait any more.
draft-refused-unsound = The draft does not fit the tenant's tools any more, and was not put in force.
