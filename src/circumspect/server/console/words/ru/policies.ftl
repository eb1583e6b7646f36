nav-policies = Правила
policies-hint = Что разрешено агенту каждого клиента. Хранятся все версии.
policy-in-force = Действует
policy-by = Кто
policy-note = Примечание
policy-since = С
policy-number = версия { $number }
policy-none = Правил нет: действует то, что инструменты сообщают о себе сами.
policy-of = Правила: { $tenant }
policy-text = Файл правил
policy-note-hint = Что и зачем, для коллег
policy-save = Ввести в действие
policy-save-hint = Сначала проверьте на сохранённых разговорах. Новая версия действует со следующего сообщения; вернуться можно одним нажатием.
policy-readonly = Правила меняют только администраторы.
policy-done-saved = Новая версия действует.
policy-done-same = Ничего не изменилось: этот текст уже действует.
policy-done-back = Прежний текст снова действует, как новая версия.
policy-begun = Это текст версии { $number }. Ничего не изменится, пока вы не введёте его в действие.
policy-quicker = Вас опередили ({ $by }): пока вы работали с версией { $seen }, появилась версия { $current }.
policy-quicker-fix = Ничего не перезаписано, ваш текст остался ниже. Возьмите из показанных здесь изменений нужное и введите свой текст в действие ещё раз: он заменит
policy-sound = Ошибок в файле нет.
policy-warned = Файл можно ввести в действие, но обратите внимание:
policy-unsound =
    { $count ->
        [one] { $count } ошибка: в таком виде файл ввести нельзя.
        [few] { $count } ошибки: в таком виде файл ввести нельзя.
       *[other] { $count } ошибок: в таком виде файл ввести нельзя.
    }
finding-line = Строка { $number }
finding-error = ошибка
finding-warning = внимание
checked-title = По мере ввода
changes-title = Что меняется
changes-none = В решениях ничего не меняется.
direction-loosened = мягче
direction-tightened = строже
direction-look = посмотрите
told-title = Что будет с вызовом
told-none = Сначала исправьте ошибки.
trial-title = Проверка на сохранённых разговорах
trial-hint = Каждое сохранённое решение принимается заново по тексту выше. Модель не спрашивается, инструменты не вызываются, ничего не записывается.
trial-most = Разговоров, не больше
trial-run = Проверить
trial-stop = Остановить
trial-progress = { $done } из { $of } разговоров
trial-old = Текст с тех пор изменён: это о прежнем. Проверьте ещё раз.
trial-lost = Связь прервалась. Проверьте ещё раз.
trial-unsound = Сначала исправьте ошибки, потом можно проверить.
trial-empty = Пока нет сохранённых разговоров для проверки.
trial-looked =
    { $calls ->
        [one] Заново решено: { $calls } вызов
        [few] Заново решено: { $calls } вызова
       *[other] Заново решено: { $calls } вызовов
    }; { $conversations ->
        [one] { $conversations } разговор
        [few] { $conversations } разговора
       *[other] { $conversations } разговоров
    }.
trial-cut = Время вышло: всего разговоров { $of }.
trial-unreplayed =
    { $count ->
        [one] { $count } вызов нельзя воспроизвести, он не учтён.
        [few] { $count } вызова нельзя воспроизвести, они не учтены.
       *[other] { $count } вызовов нельзя воспроизвести, они не учтены.
    }
trial-same = Всё было бы решено так же.
trial-loosened =
    { $count ->
        [one] { $count } вызов был бы остановлен мягче, чем тогда.
        [few] { $count } вызова были бы остановлены мягче, чем тогда.
       *[other] { $count } вызовов были бы остановлены мягче, чем тогда.
    }
trial-change = Что меняется
trial-rule = Правило, которое вмешивается или больше не вмешивается
trial-calls = Вызовы
trial-needless = Напрасно
trial-questions = Вопросов людям: тогда { $then }, теперь { $now }.
trial-examples = Примеры
flip-let_through = теперь пропущено
flip-looser = остановлено мягче
flip-held = теперь остановлено
flip-stricter = остановлено строже
flip-opinion_dropped = больше без второго мнения
flip-opinion_asked = теперь со вторым мнением
verdict-approve = одобрение коллеги
fate-confirmed = пользователь согласился, и всё получилось
fate-approved = коллега одобрил, и всё получилось
fate-ran = выполнено без вопроса, успешно
fate-refused = пользователь отказался
fate-failed = выполнено с ошибкой
fate-unknown = выполнено, исход неизвестен
fate-unanswered = на вопрос не ответили
fate-held = не выполнялось
needless-known = напрасно: человек уже согласился
needless-presumed = похоже, напрасно
needless-detour = модель сначала уточнит
versions-title = Версии
versions-version = Версия
versions-do = Действия
versions-changed = Что изменилось
versions-open = Открыть в редакторе
diff-title = От версии { $old } к версии { $new }
diff-words = Словами
diff-text = Построчно
roll-back = Вернуться к версии { $number }
roll-back-hint = Чтобы увидеть, что возврат изменил бы в сохранённых разговорах, откройте её в редакторе и проверьте там:
