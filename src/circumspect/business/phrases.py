"""How each call is said to the person who is asked about it."""

from __future__ import annotations

from collections.abc import Mapping

PHRASES: Mapping[str, Mapping[str, str]] = {
    "find_lead": {
        "en": "look up the lead {email}",
        "he": "לאתר את הליד {email}",
        "ru": "найти лида {email}",
    },
    "update_lead": {
        "en": "update the lead {email}",
        "he": "לעדכן את הליד {email}",
        "ru": "обновить данные лида {email}",
    },
    "find_free_times": {
        "en": "find free times on {date}",
        "he": "לבדוק זמנים פנויים בתאריך {date}",
        "ru": "посмотреть свободное время на {date}",
    },
    "book_meeting": {
        "en": "book {date} at {time} for {name}",
        "he": "לקבוע פגישה בתאריך {date} בשעה {time} עבור {name}",
        "ru": "записать {name} на {date} в {time}",
    },
    "cancel_meeting": {
        "en": "cancel the booking {booking_id}",
        "he": "לבטל את הפגישה {booking_id}",
        "ru": "отменить запись {booking_id}",
    },
    "send_email": {
        "en": "send an e-mail to {to}: “{subject}”",
        "he": "לשלוח אימייל אל {to}: «{subject}»",
        "ru": "отправить письмо на {to}: «{subject}»",
    },
}
