nav-queue = Очередь
queue-all = Всё
queue-kind = Вид
queue-escalation = Прочее, переданное людям
queue-unknown = Исход неизвестен
queue-approval = Согласования
queue-delivery = Не доставлено
queue-is-escalation = передано человеку
queue-is-unknown = исход неизвестен
queue-is-approval = согласование
queue-is-delivery = не доставлено
queue-draft = Черновики правил
queue-is-draft = черновик правил
queue-drafted = Новые правила: { $who }
queue-holder = Кто занимается
queue-anybody = Все
queue-mine = Я
queue-nobody = Никто
queue-snoozed = Отложенные
queue-none = Вас ничего не ждёт
queue-none-hint = Передачи человеку, согласования, вызовы с неизвестным итогом и неудавшиеся доставки появляются здесь сами, самое старое сверху.
queue-through = Готово: в этой части очереди больше ничего не ждёт.
queue-undelivered = Никто об этом не узнал: { $to }
queue-back = Вернётся
work-title = Кто занимается
work-mine = Взять себе
work-assign-to = Поручить
work-assign = Поручить
work-snooze-for = Отложить на
work-snooze = Отложить
work-wake = Вернуть сейчас
work-notes = Внутренние заметки
work-no-notes = Пока нет. Пользователи их никогда не видят.
work-note = Заметка для коллег
work-note-add = Добавить заметку
work-next = Следующее
work-previous = Предыдущее
known-title = Что об этом известно сейчас
known-nothing = У этого клиента нет инструмента, который читает то, о чём этот вызов.
bulk-title = С отмеченными
bulk-all = Отметить всю страницу
bulk-mark = Отметить
bulk-did-assign =
    { $count ->
        [0] Ничего не поручено.
        [one] Поручено: { $count } пункт.
        [few] Поручено: { $count } пункта.
       *[other] Поручено: { $count } пунктов.
    }
bulk-did-snooze =
    { $count ->
        [0] Ничего не отложено.
        [one] Отложено: { $count } пункт.
        [few] Отложено: { $count } пункта.
       *[other] Отложено: { $count } пунктов.
    }
bulk-did-resolve =
    { $count ->
        [0] Ничего не закрыто.
        [one] Закрыто: { $count } передача.
        [few] Закрыто: { $count } передачи.
       *[other] Закрыто: { $count } передач.
    }
bulk-left =
    { $count ->
        [one] { $count } пункт остался как был: откройте его, чтобы узнать почему.
        [few] { $count } пункта остались как были: откройте их, чтобы узнать почему.
       *[other] { $count } пунктов остались как были: откройте их, чтобы узнать почему.
    }
queue-expires = истекает
