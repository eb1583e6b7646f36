shadows-title = Shadows
shadows-about = A second configuration beside the live turns. It does nothing; what it would have done is compared.
shadows-none = No shadow yet. One is made by a command on the server or over HTTP.
shadows-new = Make another one
shadows-how = Type this on the server, with the configuration that you want:
shadow-compared = Turns compared
shadow-different = Would have done something else
shadow-in-what = What differs
shadow-turns =
    { $turns ->
        [0] none yet
       *[other] { $turns }, of which { $different } differ
    }
shadow-share-means = of the turns have a shadow
shadow-dropped =
    { $count ->
        [0] none left out
       *[other] { $count } left out: too many waited
    }
shadow-errors =
    { $count ->
        [0] it could always answer
       *[other] { $count } times it could not answer
    }
shadow-cost = It cost
shadow-tokens = { $tokens } tokens
shadow-outcomes = Outcomes
shadow-count = Turns
shadow-list = Turns that differ
shadow-list-all = All turns
shadow-only = Different
shadow-every = All
shadow-turn = Turn
shadow-same = the same
shadow-failed = could not answer
shadow-all-same = Nothing differs so far.
shadow-no-turns = No turn was compared yet.
shadow-both = One turn, both ways
shadow-conversation = The conversation, from inside
shadow-nothing = There is nothing to show.
differs-outcome = Decision
differs-calls = Actions
differs-reason_codes = Reasons
differs-verdicts = Verdicts
differs-reply = Reply
differs-reply-hint = another wording alone does not count as a difference
side-live = Live
side-live-hint = What really happened.
side-shadow = Shadow
side-shadow-hint = What would have happened. Nothing of it did.
side-no-calls = No call.
side-would = It would have run
side-pending = It asked for a yes to
side-unknown = It wanted to look up, and nobody knows the answer
side-no-reply = No words: it was ended at the call.
