customer-title = Ваш агент
customer-as-operator = Так это видит клиент.
customer-key = Ключ API
customer-go = Посмотреть
customer-hint = Ключ вашей компании с правом чтения. Он обменивается на просмотр в течение часа и не хранится в браузере.
customer-refused = Ключ недействителен или не даёт права чтения.
customer-usage = Использование
customer-empty = За этот период ничего не произошло.
customer-messages = Отвечено сообщений
customer-acted = Сделано для клиентов
customer-acted-note = заказы, записи и подобное
customer-escalated = Передано человеку
customer-days = Сообщения по дням
customer-reasoning = Насколько осторожно он работает
customer-adaptive = Отвечено в адаптивном режиме
customer-critiques = Второе мнение
customer-context = Обращения за сведениями
customer-context-note = { $average } на сообщение
customer-held = Предотвращено ошибочных действий
customer-held-note =
    { $count ->
        [one] из { $count } остановленного вызова
        [few] из { $count } остановленных вызовов
       *[other] из { $count } остановленных вызовов
    }
customer-months = По месяцам
customer-month = Месяц
customer-tokens = Токены
customer-billed = В счёте
customer-quota = Сообщения за этот месяц
customer-quota-of = { $used } из { $quota }
customer-quota-left = Осталось { $left } до { $day }
customer-quota-reached = Все использованы. Агент снова начнёт отвечать на новые сообщения { $day }; кто просит человека, по-прежнему его получает.
customer-search = Слова, разговор или человек
customer-none = Такого разговора нет.
