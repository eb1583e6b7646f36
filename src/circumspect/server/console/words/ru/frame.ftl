product = Circumspect
skip = К содержимому
menu = Меню
sign-out = Выйти
theme = Светлая или тёмная тема
footer = Circumspect { $version } · время по UTC
role-admin = Администратор
role-operator = Оператор
role-reviewer = Рецензент
tenant = Клиент
all-tenants = Все клиенты
any = Любое
any-time = За всё время
apply = Применить
search = Найти
more = Показать ещё
open = Открыть
cancel = Отмена
period = Период
last-days =
    { $days ->
        [1] Сегодня
        [one] За { $days } день
        [few] За { $days } дня
       *[other] За { $days } дней
    }
chart-data = Показать таблицей
nav-overview = Обзор
nav-conversations = Разговоры
nav-escalations = Передано людям
nav-approvals = Согласования
outcome-answered = Отвечено
outcome-asked = Задан вопрос
outcome-acted = Выполнено
outcome-escalated = Передано человеку
outcome-blocked = Остановлено
outcome-failed = Сбой
mode-adaptive = Адаптивный
mode-standard = Обычный
error-403 = У вас нет доступа к этой странице.
error-403-fix = Попросите администратора дать нужную роль.
error-404 = Здесь ничего нет.
error-404-fix = Проверьте адрес; то, что принадлежит недоступному вам клиенту, выглядит так же.
error-405 = Этот адрес так не работает.
error-405-fix = Вернитесь и воспользуйтесь кнопками страницы.
error-413 = Слишком много за один раз.
error-413-fix = Отправьте меньше.
error-422 = Что-то в форме или в адресе не удаётся прочитать.
error-422-fix = Вернитесь и проверьте введённое.
error-500 = У нас что-то сломалось.
error-500-fix = Попробуйте ещё раз; если не пройдёт, сообщите нам время.
error-503 = База данных или клиент сейчас недоступны.
error-503-fix = Попробуйте через минуту.
error-409 = Тем временем всё изменилось, поэтому ничего не сделано.
error-409-fix = Вернитесь и посмотрите, как обстоит дело сейчас.
error-429 = Слишком часто за короткое время.
error-429-fix = Подождите минуту и попробуйте ещё раз.
signed-out = Вы вышли из системы раньше, чем это дошло. Ничего не сделано.
signed-out-fix = Войдите на отдельной странице, а потом отправьте отсюда ещё раз:
signed-out-written = Что вы написали
signed-out-again = Отправить ещё раз
error-home = К обзору
signing-title = Вход
signing-name = Имя
signing-password = Пароль
signing-go = Войти
signing-refused = Неверное имя или пароль, либо учётная запись на время заблокирована.
signing-hint = Ещё нет учётной записи? На сервере:
