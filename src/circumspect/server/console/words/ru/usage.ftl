nav-usage = Использование
usage-csv = Скачать CSV
usage-by = По
usage-by-period = Месяц
usage-by-tenant = Клиент
usage-by-model = Модель
usage-by-mode = Режим
usage-none = За этот период ничего не использовано.
usage-messages = Сообщения
usage-adaptive = Адаптивные сообщения
usage-of-messages =
    { $count ->
        [one] из { $count } сообщения
        [few] из { $count } сообщений
       *[other] из { $count } сообщений
    }
usage-critiques = Второе мнение
usage-critiques-share = { $share } адаптивных сообщений
usage-critique-rate = Доля
usage-fetches = Запросы контекста
usage-fetches-each = { $average } на адаптивное сообщение
usage-average = В среднем
usage-tokens = Токены
usage-tokens-note = { $sent } на входе, { $back } на выходе
usage-input = Токены на входе
usage-output = Токены на выходе
usage-cost = Стоимость
usage-billed = { $billed } в счёте
usage-billed-short = Счёт
usage-escalations = Передачи человеку
usage-chart-messages = Сообщения по месяцам
usage-chart-days = Сообщения по дням
usage-chart-tokens = Токены: { $by }
usage-chart-tokens-thousands = Тысячи токенов: { $by }
usage-chart-tokens-millions = Миллионы токенов: { $by }
usage-chart-cost = Стоимость по моделям (USD): { $by }
usage-others = другие модели
usage-no-model = без модели
usage-table = Использование таблицей
