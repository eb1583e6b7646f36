nav-log = Журнал
log-by = Кто
log-action = Что
log-result = Результат
log-done = Выполнено
log-refused = Отказано
log-since = С
log-until = По
log-rows = Действия людей
log-none = Ничего не найдено
log-none-hint = Здесь всё, что меняют операторы: кто, когда и что. Уберите фильтр, чтобы увидеть больше.
log-at = Когда
log-subject = О чём
log-origin = Откуда
log-detail = Подробности
log-csv = Скачать CSV
log-chain = Цепочка
log-chain-hint = Каждая строка скреплена с предыдущей. Проверка читает все и называет первую, которую изменили, вынули или переставили. Храните голову цепочки в другом месте.
log-check = Проверить журнал
log-whole = Журнал цел: строк { $rows }, подписано до { $signed }. Голова:
log-broken = Строка { $row } не такая, какой была записана:
log-late = Строк слишком много, чтобы проверить их здесь. На сервере: circumspect operators log verify
log-behind =
    { $rows ->
        [one] ещё не отправлена { $rows } строка
        [few] ещё не отправлены { $rows } строки
       *[other] ещё не отправлено { $rows } строк
    }
log-sent = всё отправлено
log-sent-nowhere = Журнал никуда не отправляется. Для этого есть настройки log_syslog и log_webhook.
