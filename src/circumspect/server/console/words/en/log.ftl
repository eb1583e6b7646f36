nav-log = Log
log-by = Who
log-action = What
log-result = Result
log-done = Done
log-refused = Refused
log-since = From
log-until = To
log-rows = What people did
log-none = Nothing was found
log-none-hint = Whatever an operator changes is here: who, when, and what. Take a filter away to see more.
log-at = When
log-subject = About
log-origin = From where
log-detail = Details
log-csv = Download CSV
log-chain = The chain
log-chain-hint = Each row is sealed to the one before it. The check reads all of them and names the first that was changed, taken out or moved. Keep the head elsewhere.
log-check = Check the log
log-whole = The log is whole: rows { $rows }, signed up to { $signed }. Its head:
log-broken = Row { $row } is not what was written:
log-late = There are too many rows to check them here. On the server: circumspect operators log verify
log-behind =
    { $rows ->
        [one] one row was not sent yet
       *[other] { $rows } rows were not sent yet
    }
log-sent = everything was sent
log-sent-nowhere = The log is not sent anywhere. The settings log_syslog and log_webhook do that.
