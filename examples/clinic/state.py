"""What the clinic holds: patients, claims, messages, all in memory and all invented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date

SEXES = ("Female", "Male", "Other", "Unknown")
PROVIDERS = ("Dr. Amara Osei", "Dr. Lior Katz", "Dr. Nina Petrova")
REQUIRED = {
    "first_name": "First name",
    "last_name": "Last name",
    "date_of_birth": "Date of birth",
    "phone": "Phone",
}
PHONE = re.compile(r"\+?[0-9][0-9 ()-]{5,18}")


@dataclass
class Patient:
    id: int
    first_name: str
    last_name: str
    date_of_birth: str
    phone: str
    sex: str = "Unknown"
    provider: str = ""
    reminders: bool = False
    portal: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}"


@dataclass
class Claim:
    id: int
    patient: str
    amount: int
    status: str
    error: str = ""


def _patients() -> dict[int, Patient]:
    people = [
        Patient(1, "Maya", "Stern", "1984-03-12", "+1 555 0101", "Female", PROVIDERS[0], notes=["Allergic to pollen."]),
        Patient(2, "Oleg", "Ivanov", "1971-11-02", "+1 555 0102", "Male", PROVIDERS[2]),
        Patient(3, "Grace", "Njoroge", "1999-07-25", "+1 555 0103", "Female", PROVIDERS[1]),
        Patient(4, "Daniel", "O'Neill <test>", "1965-01-30", "+1 555 0104", "Male", PROVIDERS[0]),
    ]
    return {one.id: one for one in people}


def _claims() -> dict[int, Claim]:
    claims = [
        Claim(1, "Maya Stern", 120, "open"),
        Claim(2, "Oleg Ivanov", 340, "rejected", "Error 505: claim rejected"),
        Claim(3, "Grace Njoroge", 75, "open"),
    ]
    return {one.id: one for one in claims}


@dataclass
class State:
    patients: dict[int, Patient] = field(default_factory=_patients)
    claims: dict[int, Claim] = field(default_factory=_claims)
    transfers: list[dict[str, str]] = field(default_factory=list)
    contacts: list[dict[str, str]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=lambda: {"name": "Circumspect Clinic", "theme": "light"})
    sessions: set[str] = field(default_factory=set)

    def found(self, words: str) -> list[Patient]:
        """Those whose name has the words in it; everybody where there are none."""
        return [one for one in self.patients.values() if words.lower() in one.name.lower()]

    def admit(self, form: Mapping[str, str]) -> Patient:
        number = max(self.patients, default=0) + 1
        patient = Patient(
            number,
            form.get("first_name", "").strip(),
            form.get("last_name", "").strip(),
            form.get("date_of_birth", "").strip(),
            form.get("phone", "").strip(),
            sex=form.get("sex") or "Unknown",
            provider=form.get("provider", ""),
            reminders="reminders" in form,
            portal="portal" in form,
        )
        self.patients[number] = patient
        return patient

    def to_json(self) -> dict[str, object]:
        said = asdict(self)
        del said["sessions"]
        return said


def problems(form: Mapping[str, str], today: date) -> dict[str, str]:
    """What is wrong with a new patient's form, by field."""
    found = {name: f"{label} is required." for name, label in REQUIRED.items() if not form.get(name, "").strip()}
    if "date_of_birth" not in found:
        try:
            if date.fromisoformat(form["date_of_birth"].strip()) > today:
                found["date_of_birth"] = "Date of birth cannot be in the future."
        except ValueError:
            found["date_of_birth"] = "Date of birth must look like 1990-05-14."
    if "phone" not in found and not PHONE.fullmatch(form["phone"].strip()):
        found["phone"] = "Phone must have digits only, with an optional + in front."
    if form.get("sex") and form["sex"] not in SEXES:
        found["sex"] = "Sex must be one of the list."
    return found
