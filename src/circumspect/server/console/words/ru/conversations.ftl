filter-q = Слова, разговор или человек
filter-outcome = Исход
filter-reason = Код причины
filter-tool = Инструмент
filter-language = Язык
filter-mode = Режим
filter-fate = Остановленный вызов
filter-state = Состояние
filter-held = Вызов остановлен
filter-critique = Второе мнение
filter-context = Запрошен контекст
filter-on = За { $day }
filter-clear = Сбросить
conversations-none = Таких разговоров нет
conversations-none-hint = Уберите фильтр или подождите: новые появятся здесь сами.
col-conversation = Разговор
col-person = Человек
col-updated = Последнее сообщение
col-begun = Начало
with-person = У человека
conversation-title = Разговор
debug = Показать, что было внутри
share = Скопировать ссылку
copied = Скопировано
raw-json = Исходный JSON
waits-escalation = Этот разговор ждёт человека.
waits-approval = Вызов в этом разговоре ждёт коллегу.
legend = Обозначения
legend-hover = Наведите на аргумент, чтобы увидеть, откуда он взялся.
earlier = Более ранние сообщения
by-user = Пользователь
by-agent = Агент
by-person = Человек
by-button = кнопкой
imported = передано клиентом
why-held = Почему это остановлено?
why-confirm = { $tool } ждёт подтверждения:
why-ask = { $tool } требует данных от пользователя:
why-escalate = { $tool } передан человеку:
why-deny = { $tool } отклонён:
turn-timeline = На что ушло время
turn-whole = Весь ход
model-calls-sum =
    { $count ->
        [one] { $count } вызов модели
        [few] { $count } вызова модели
       *[other] { $count } вызовов модели
    }, { $tools ->
        [0] без инструментов
        [one] { $tools } вызов инструмента
        [few] { $tools } вызова инструментов
       *[other] { $tools } вызовов инструментов
    } · { $sent } токенов туда, { $back } обратно · { $cost }
kind-message = Решение
kind-assessment = Самооценка
kind-critique = Второе мнение
kind-policy = Правила
kind-tool = Вызов инструмента
kind-context = Контекст
kind-model = Модель
kind-intent = Подтверждение
kind-notice = Замечание
kind-understanding = Понимание
synthetic = синтетическое: этого никто не говорил
searched-for = Искали
searched-on = на { $domain }
searched-wide = за пределами сайта
searched-cached = из кэша
searched-solved = ответ найден
searched-unsolved = ответа нет
searched-failed = поиск не удался
source-switched = Искали в другом месте
search-saved = Поиска не было: всё под рукой.
verdict-allow = разрешено
verdict-confirm = подтвердить
verdict-ask = спросить
verdict-escalate = передать человеку
verdict-deny = отказ
effect-read = читает
effect-write = изменяет
effect-destructive = необратимо
state-started = выполняется
state-succeeded = успешно
state-failed = сбой
state-indeterminate = исход неизвестен
state-delegated = передано клиенту
round = раунд { $number }
confidence = Уверенность
proposes = предлагает
needs-confirmation = просит подтверждения
missing = не хватает
wants-context = запрашивает
whole-text = Что написала модель
no-findings = Ни одно правило не возразило.
result = Результат
origin-user = Сказал пользователь
origin-field = Поле результата инструмента
origin-text = В тексте результата инструмента
origin-stranger_field = Поле, которое могут заполнить посторонние
origin-stranger = В тексте, который могут написать посторонние
origin-default = Значение по умолчанию
origin-choice = Одно из значений, которые предлагает инструмент
origin-derived = Выведено из сказанного
origin-composed = Составлено моделью
origin-echo = Назвала сама модель, инструмент лишь повторил
origin-nowhere = В разговоре не найдено
noted-confidence_is_capped = Действует потолок уверенности инструмента.
noted-the_model_is_sure = Сама модель не уверена.
noted-a_second_opinion_agrees = Что сказало второе мнение.
noted-a_second_opinion_was_had = Второго мнения получить не удалось.
settled-run = Ответ относится к заданному вопросу: вызов можно выполнить.
settled-ask_again = Ответ пришёл слишком поздно или на другое: спрошено ещё раз.
settled-drop = Отклонено.
settled-nothing = Ответа ничего не ждало.
settled-edit = Аргументы изменены.
thumbs = Было ли это верно?
thumb-up = Верно
thumb-down = Неверно
thumb-correction = Как следовало поступить? (необязательно)
thumb-keep = Сохранить
rule = Правило:
answer-sources = На чём основан ответ
source-page = страница { $page }
model-call-tokens = { $sent } → { $back } токенов
model-call-seconds = { $seconds } с
decision-proceed = продолжить
decision-ask_user = спросить пользователя
decision-escalate = к человеку
where-memory = сказанное
where-page = страница
where-knowledge = знания модели
where-web_search = интернет
where-ask_user = пользователь
fact-true = да
fact-false = нет
facts-more =
    { $count ->
        [one] и ещё { $count }, в исходном JSON
       *[other] и ещё { $count }, в исходном JSON
    }
