proving-title = Это вы?
proving-why = То, что вы собираетесь сделать, нельзя отменить. Подтвердите ещё раз, кто вы, и всё продолжится как было.
proving-refused = Не подошло, уже использовано, или после нескольких неудач нужно подождать.
proving-code = Код
proving-code-hint = Из приложения или один из кодов восстановления.
proving-passkey = Использовать ключ доступа
proving-passkey-failed = Ключ доступа не сработал. Ничего не сделано.
proving-provider = Подтвердить там, где вы входите
proving-go-on = Продолжить
proving-done = Спасибо.
proving-done-elsewhere = Закройте это окно и продолжите в другом.
proving-second-title = Ещё один шаг
proving-second-why = Пароль верен. Теперь подтвердите, что это вы,
signing-passkey = Войти с ключом доступа
second-factor-title = Второй фактор
second-factor-required = Вашей роли мало одного пароля. Настройте приложение или ключ доступа, чтобы продолжить.
second-factor-on = Настроено
second-factor-app = Приложение с кодами
second-factor-app-title = Настройка приложения
second-factor-app-hint = Приложение на телефоне каждые полминуты показывает новый код.
second-factor-app-begin = Настроить приложение
second-factor-app-remove = Убрать приложение
second-factor-app-scan = Отсканируйте картинку приложением.
second-factor-app-picture = QR-код с секретом для приложения
second-factor-app-type = Или введите в нём:
second-factor-app-code = Код, который оно показывает
second-factor-app-go = Настроить
second-factor-wrong-code = Это не тот код, который приложение показывает сейчас. Проверьте часы телефона.
second-factor-done-app = Приложение настроено. Все остальные ваши входы завершены.
second-factor-done-passkey = Ключ доступа добавлен. Все остальные ваши входы завершены.
second-factor-passkey = Ключ доступа
second-factor-passkeys = Ключи доступа
second-factor-passkeys-hint = Вас узнаёт устройство или ключ безопасности: не нужно вводить ни пароль, ни код.
second-factor-passkeys-unnamed = Ключам доступа нужно имя сервера. Откройте его по имени, а не по адресу из цифр.
second-factor-passkey-name = Название устройства
second-factor-passkey-add = Добавить ключ доступа
second-factor-passkey-remove = Убрать
second-factor-passkey-refused = Ключ доступа не принят. Ничего не изменено.
second-factor-added = Добавлен
second-factor-codes = Коды восстановления
second-factor-codes-once = Каждый впустит вас один раз, когда больше ничего нет. Сохраните их сейчас: больше они не будут показаны.
second-factor-codes-left =
    { $number ->
        [one] Остался { $number }.
        [few] Осталось { $number }.
       *[other] Осталось { $number }.
    }
second-factor-codes-renew = Создать новые
second-factor-copy = Копировать
second-factor-others = Кто-то потерял свой
second-factor-others-hint = Убирает приложение, ключи доступа и коды восстановления и завершает все входы. Это записывается. Убедитесь, что просит действительно этот человек.
second-factor-whose = Оператор
second-factor-reset = Убрать
