shadows-title = Тени
shadows-about = Вторая конфигурация рядом с настоящими ходами. Она ничего не делает; сравнивается то, что она сделала бы.
shadows-none = Теней пока нет. Создают их командой на сервере или по HTTP.
shadows-new = Создать ещё одну
shadows-how = Введите на сервере, с нужной конфигурацией:
shadow-compared = Сравнено ходов
shadow-different = Сделала бы иначе
shadow-in-what = В чём разница
shadow-turns =
    { $turns ->
        [0] пока ни одного
       *[other] { $turns }, из них с разницей: { $different }
    }
shadow-share-means = ходов имеют тень
shadow-dropped =
    { $count ->
        [0] ничего не пропущено
       *[other] пропущено: { $count }, слишком много ждало
    }
shadow-errors =
    { $count ->
        [0] она всегда могла ответить
       *[other] не смогла ответить: { $count }
    }
shadow-cost = Она стоила
shadow-tokens = токенов: { $tokens }
shadow-outcomes = Исходы
shadow-count = Ходы
shadow-list = Ходы с разницей
shadow-list-all = Все ходы
shadow-only = С разницей
shadow-every = Все
shadow-turn = Ход
shadow-same = то же самое
shadow-failed = не смогла ответить
shadow-all-same = Разницы пока нет.
shadow-no-turns = Ни один ход пока не сравнён.
shadow-both = Один ход, двумя путями
shadow-conversation = Разговор изнутри
shadow-nothing = Показать нечего.
differs-outcome = Решение
differs-calls = Действия
differs-reason_codes = Причины
differs-verdicts = Выводы
differs-reply = Ответ
differs-reply-hint = другие слова сами по себе разницей не считаются
side-live = На деле
side-live-hint = Что произошло.
side-shadow = Тень
side-shadow-hint = Что произошло бы. Ничего из этого не было.
side-no-calls = Без вызовов.
side-would = Она выполнила бы
side-pending = Она попросила бы согласия на
side-unknown = Она хотела узнать, а ответа никто не знает
side-no-reply = Без слов: ход закончен на вызове.
