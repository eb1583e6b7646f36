editor-find = Найти
editor-replace = Заменить
editor-next = Дальше
editor-previous = Назад
editor-all = Все
editor-match-case = С учётом регистра
editor-regexp = Шаблон
editor-by-word = Целые слова
editor-replace-all = Заменить всё
editor-close = Закрыть
editor-completions = Подсказки
editor-diagnostics = Замечания
editor-no-diagnostics = Замечаний нет
editor-go-to-line = К строке
editor-go = Перейти
editor-fold-line = Свернуть
editor-unfold-line = Развернуть
editor-folded-code = Свёрнутые строки
editor-current-match = Это место
editor-on-line = в строке
editor-replaced-matches = Заменено: $
editor-replaced-match-on-line = Заменено в строке $
editor-keys = Ctrl-Space подсказывает ключи, значения и инструменты. Ctrl-F ищет, F8 переходит к следующему замечанию, Tab делает отступ: чтобы выйти из поля по Tab, нажмите сначала Escape.

marks-title = Вызовы за { $days } дн. по строкам, которые их остановили
marks-held =
    { $count ->
        [one] остановлен { $count } вызов
        [few] остановлено { $count } вызова
       *[many] остановлено { $count } вызовов
    }
marks-built-in = Правило действует для любого инструмента; здесь о нём говорит файл.
marks-no-line = Без строки
marks-no-line-hint = Правило действует, что бы ни говорил файл.
marks-none = Ничего не остановлено.
fate-name-done = сначала спросили, потом выполнили
fate-name-refused = пользователь или коллега отказал
fate-name-denied = запрещено правилом
fate-name-corrected = исправлено
fate-name-waiting = ждёт
held-list-title = Остановленные вызовы { $tool }
held-most = последние { $count }
held-why = Почему и как быть со следующим
held-line = Строка { $line } версии { $version }, которая действовала
held-built-in = Его остановила не строка политики: это правило действует в любом случае.
held-no-version = Политика, которая тогда действовала, не сохранена.
held-others = Все вызовы, которые остановило это правило
why-line = Показать строку
why-rule = Сделать из этого правило
amend-let_through = В следующий раз пропустить
amend-hold = Всегда останавливать
amend-none-let_through = Никакой текст это не пропустит: правило действует в любом случае, или нужно согласие пользователя.
amend-none-hold = Это остановлено так строго, как может файл.
amend-try = Посмотреть, что было бы
amend-hint = Каждый вариант открывается в редакторе с одним этим изменением и проверяется на сохранённых разговорах. До ввода в действие ничего не меняется.
amend-open = Это действующий текст с одним изменением, сделанный из остановленного вызова. Ниже он проверяется на сохранённых разговорах. Ничего не изменится, пока вы не введёте его в действие.
amend-call = Вызов
amend-note = { $tool }: после остановленного вызова в { $conversation }
amend-kind-switch_on = Снова включить { $tool }; пользователя спрашивают каждый раз
amend-kind-ask_user = Спрашивать пользователя вместо коллеги
amend-kind-never_ask = Не спрашивать о { $tool }
amend-kind-except_this = Оставить условие, но не для вызова с этими значениями: { $about }
amend-kind-one_more = Поднять предел до { $about }
amend-kind-any_source = { $about } может быть откуда угодно
amend-kind-always_ask = Спрашивать пользователя о каждом вызове { $tool }
amend-kind-four_eyes = Каждый вызов { $tool } одобряет коллега
amend-kind-four_eyes_from = Вызовы с { $about } одобряет коллега
amend-kind-four_eyes_for = Вызовы с { $about } одобряет коллега
amend-kind-deny_from = Никогда не выполнять вызовы с { $about }
amend-kind-deny_for = Никогда не выполнять вызовы с { $about }
loosens-tenant =
    { $count ->
        [0] Это смягчает политику { $tenant }. За { $days } дн. не остановлено ни одного вызова, которого это касается.
        [one] Это смягчает политику { $tenant }. За { $days } дн. остановлен { $count } вызов инструментов, которых это касается.
        [few] Это смягчает политику { $tenant }. За { $days } дн. остановлено { $count } вызова инструментов, которых это касается.
       *[many] Это смягчает политику { $tenant }. За { $days } дн. остановлено { $count } вызовов инструментов, которых это касается.
    }
versions-back = Вернуться
