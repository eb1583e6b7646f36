# $action is an infinitive phrase such as "die Bestellung 12345 stornieren". It stands after a colon, because a clause would
# need another order of words ("zu stornieren") and a tool without a German phrase is named in English.

confirm-question = Nur zur Sicherheit – soll ich Folgendes tun: { $action }? Das lässt sich nicht rückgängig machen. Bitte antworten Sie mit Ja oder Nein.
confirm-question-write = Nur zur Sicherheit – soll ich Folgendes tun: { $action }? Bitte antworten Sie mit Ja oder Nein.
confirm-again-expired = Ihre Antwort kam, als die Frage schon abgelaufen war, deshalb frage ich lieber noch einmal, soll ich Folgendes tun: { $action }? Bitte antworten Sie mit Ja oder Nein.
confirm-again-mismatch = Ich möchte sicher sein, worauf sich Ihr Ja bezog – soll ich Folgendes tun: { $action }? Bitte antworten Sie mit Ja oder Nein.
nothing-to-confirm = Im Moment wartet nichts auf Ihre Bestätigung. Was möchten Sie tun?
dropped = In Ordnung, das mache ich nicht: { $action }. Es wurde nichts geändert.
whole-amount = der ganze Betrag
whole-amount-of = der ganze Betrag, { $sum }

ask-missing = Ich möchte Folgendes für Sie tun: { $action }. Dafür brauche ich noch: { $fields }. Können Sie mir das bitte nennen?
ask-missing-unnamed = Dafür brauche ich noch einige Angaben. Können Sie mir bitte mehr dazu sagen?
ask-missing-more = Ich möchte Folgendes für Sie tun: { $action }. Dafür brauche ich noch einige Angaben. Können Sie mir bitte mehr dazu sagen?
which-order-id = Welche Bestellung meinen Sie? Bitte nennen Sie mir die Bestellnummer.
which-email = Wie lautet die E-Mail-Adresse?
which-phone = Unter welcher Telefonnummer erreichen wir Sie?
which-date = An welchem Tag?
which-time = Um welche Uhrzeit?
which-name = Wie ist Ihr Name?
which-address = Wie lautet die Adresse?
which-amount = Welchen Betrag meinen Sie?
which-product = Welches Produkt meinen Sie?
which-service = Welche Leistung wünschen Sie?
which-quantity = Wie viele möchten Sie?
which-reason = Aus welchem Grund?
which-to = An welche E-Mail-Adresse soll es gehen?
which-subject = Worum geht es? Eine Zeile genügt.
which-body = Was soll in der Nachricht stehen?
which-sku = Welchen Artikel meinen Sie? Bitte nennen Sie mir die Artikelnummer.
which-booking-id = Welche Buchung meinen Sie? Bitte nennen Sie mir die Buchungsnummer.
which-appointment-id = Welchen Termin meinen Sie?
which-customer-id = Wie lautet Ihre Kundennummer?
choose-one = { $question } Zur Auswahl stehen: { $choices }.
ask-form = Im Formular fehlt noch: { $fields }. Können Sie mir das bitte nennen?
ask-password = In dieses Feld gehört ein Passwort; das gebe ich weder ein noch möchte ich es wissen. Bitte melden Sie sich selbst an. Sind Sie angemeldet und soll ich weitermachen?
ask-stuck = Ich habe es auf mehreren Wegen versucht, aber die Seite hat nicht wie erwartet reagiert. Können Sie mir sagen, wie Sie vorgehen würden, oder diesen Schritt selbst machen?
page-changed = Die Seite hat sich seit meiner Frage geändert, Ihr Ja passt also nicht mehr dazu. Es wurde nichts abgeschickt. Sagen Sie mir bitte, ob ich noch einmal nachsehen soll.
page-denied = Hier komme ich nicht weiter: Die Seite lässt diesen Schritt nicht zu oder ist nicht die, für die ich sie hielt. Es wurde nichts abgeschickt. Können Sie mir sagen, wie es weitergehen soll?
reason-ask = Ich brauche noch: { $fields }. Können Sie mir das bitte nennen?
reason-ask-unsure = Ich bin nicht sicher, wie das hier geht. Können Sie mir bitte genauer sagen, was Sie brauchen?
reason-not-searched = Ich habe das nicht nachgeschlagen: Namen, Nummern und andere Wörter von Ihnen gehen an keine Suchmaschine, und ohne sie bleibt nichts zu suchen. Was soll ich in allgemeinen Worten suchen, oder wie soll es weitergehen?
ask-invalid = Können Sie das bitte prüfen: { $problems }?
invalid-field = { $field } { $value } ({ $wanted })
wanted-date = ein Datum wie 2026-03-31
wanted-time = eine Uhrzeit wie 14:30
wanted-email = eine E-Mail-Adresse
wanted-phone = eine Telefonnummer
wanted-number = eine Zahl
wanted-choice = eines von: { $choices }
wanted-other = so wird das sonst nicht geschrieben
wanted-known = das passt nicht zu dem, was mir bekannt ist; bitte prüfen

tool-unavailable = Es tut mir leid, das kann ich hier nicht tun.
tool-denied = Es tut mir leid, das kann ich nicht tun.
what-i-can-do = Das kann ich für Sie tun: { $actions }.
approval-needed = Das muss zuerst jemand aus dem Team freigeben: { $action }. Ich habe es weitergegeben; geändert wurde noch nichts.
approval-denied = Jemand aus dem Team hat das geprüft und abgelehnt: { $action }. Es wurde nichts geändert.
with-person = Jemand aus unserem Team hat das Gespräch übernommen und antwortet Ihnen hier.
handed-over = Gern. Ich übergebe Sie an eine Kollegin oder einen Kollegen; die Antwort kommt hier.
offer-person = So kommen wir nicht weiter. Soll ich Sie an eine Kollegin oder einen Kollegen übergeben? Wenn Sie nichts dagegen haben, tue ich das als Nächstes.
person-declined = Gut, dann machen wir hier weiter. Was kann ich für Sie tun?
said-before = Das habe ich schon gesagt; vielleicht habe ich Sie nicht verstanden. Bitte sagen Sie mir mit anderen Worten, was Sie brauchen.
confirm-clearly = Bevor ich das tue, brauche ich ein klares Ja oder Nein.
question-first = Zuerst eine Frage: { $question }
question-unanswered = Das kann ich nicht sicher beantworten, und ich habe nichts geändert. Soll eine Kollegin oder ein Kollege antworten?
you-are-welcome = Gern geschehen. Ich bin hier, falls noch etwas ist.
not-quite-sure = Ganz sicher bin ich mir dabei nicht.
escalated = Das gebe ich lieber an einen Menschen aus unserem Team weiter, der sich hier bei Ihnen meldet. Es wurde nichts geändert.
escalated-after-action = Den Rest habe ich an einen Menschen aus unserem Team weitergegeben, der sich hier bei Ihnen meldet.
not-known = Das weiß ich nicht, und ich möchte nicht raten. Ihre Frage liegt bei unserem Team, das Ihnen hier antwortet.

do-not-know = Das weiß ich leider nicht.
opening-hours = Unsere Öffnungszeiten: { $hours }
done = Erledigt: { $action }.
tool-failed = Das wollte ich tun, es hat aber nicht geklappt: { $action }. Es wurde nichts geändert.
tool-refused = Das wollte ich tun: { $action }. Es wurde abgelehnt: { $problem }
colleague-told = Unser Team weiß Bescheid und meldet sich hier bei Ihnen.
outcome-unknown = Das wollte ich tun: { $action }. Ich habe keine klare Antwort erhalten und weiß deshalb nicht, ob es geklappt hat. Von mir aus versuche ich es nicht noch einmal: Jemand aus unserem Team prüft es und meldet sich bei Ihnen.
not-verified = Das wollte ich tun: { $action }. Das System hat Erfolg gemeldet, ich kann die Wirkung aber nicht sehen. Jemand aus unserem Team prüft es und meldet sich bei Ihnen.
under-way = Ich warte noch auf das Ergebnis eines früheren Schritts ({ $action }). Unser Team weiß Bescheid; ein zweites Mal beginne ich ihn nicht.
interrupted-notice = (Vorhin wurde ich unterbrochen: { $action }. { $state })
told-notice = (Jemand aus unserem Team hat nachgesehen: { $action }. { $state })
done-before = Das ist bereits geschehen: { $action }. Ein zweites Mal mache ich es nicht.
state-succeeded = Es hat geklappt.
state-failed = Es hat nicht geklappt.
state-unknown = Ob es geklappt hat, ist noch nicht bekannt; unser Team weiß Bescheid.

failed-model = Es tut mir leid, ich kann im Moment nicht antworten. Weiter wurde nichts getan. Bitte versuchen Sie es in Kürze noch einmal.
failed-handed-over = Es tut mir leid, wir haben technische Schwierigkeiten. Ihre Nachricht liegt bei unserem Team, das Ihnen hier antwortet.
failed-store = Es tut mir leid, ich kann im Moment nichts nachsehen oder ändern. Bitte versuchen Sie es in Kürze noch einmal.
failed-internal = Es tut mir leid, bei uns ist etwas schiefgegangen. Weiter wurde nichts getan. Bitte versuchen Sie es noch einmal.
busy = Ich arbeite noch an Ihrer vorigen Nachricht. Bitte warten Sie einen Moment und senden Sie diese dann noch einmal.
message-empty = Ich habe keinen Text erhalten. Was kann ich für Sie tun?
message-too-long = Diese Nachricht ist mir zu lang (höchstens { $limit } Zeichen). Können Sie mir das Wichtigste schicken?
quota-reached = Für diesen Monat habe ich alle Nachrichten beantwortet, die ich beantworten darf; mit dieser habe ich deshalb nichts getan. Ab dem Ersten des nächsten Monats kann ich wieder helfen. Wenn es eilt, wenden Sie sich bitte direkt an uns.
claim-replaced = Um genau zu sein: Ich habe noch nichts getan. Was möchten Sie tun?

chat-offline = Offline-Demomodell: Es vergleicht Wörter und zitiert, was es findet. Es ist kein Sprachmodell.
chat-try = Zum Beispiel: Bestellung stornieren · Wo ist die Bestellung 12345? · Wie lange kann ich zurückgeben?
chat-help = /debug zeigt die Überlegungen, /help alles Weitere, Strg-D beendet.

# How a request was understood. What a model understood is put in as data.
understood-heading = So habe ich Ihre Anfrage verstanden
understood-intent = Es geht um: { $intent }
understood-normal = Ich sehe nach, was ich finden kann.
understood-clarify-intro = Ich möchte sicher sein, dass ich Sie richtig verstehe.
understood-clarify-outro = Können Sie mir bitte etwas genauer sagen, was Sie brauchen?
understood-block = Dabei kann ich hier wohl nicht helfen. Fragen zu { $business } beantworte ich Ihnen gern.
understood-guardian = Dabei kann ich nicht helfen. Wenn Sie etwas anderes brauchen, sagen Sie es mir bitte; in dringenden Fällen wenden Sie sich bitte an einen Menschen.

# Actions on a web page, as infinitive phrases. What is in quotes is the page's own wording.
page-click = „{ $name }“ anklicken
page-submit = „{ $name }“ auf { $on } drücken
page-type = „{ $text }“ in „{ $name }“ eingeben
page-select = „{ $option }“ in „{ $name }“ auswählen
page-navigate = { $url } öffnen
page-press = die Taste { $key } drücken
page-scroll = die Seite scrollen
page-wait = { $seconds } s warten
page-done = abschließen

# What operators read in an e-mail.
notify-escalation = Ein Gespräch braucht einen Menschen
notify-approval = Ein Aufruf wartet auf Freigabe
notify-indeterminate = Ein Aufruf wurde gemacht, und niemand weiß, wie er ausgegangen ist
notify-resolved = Eine Übergabe wurde erledigt
notify-body = { $what } ({ $tenant }).
    Grund: { $why }
    Worum es geht: { $summary }
    Gespräch: { $conversation }

# Names of common parameters, for questions. Others are shown as the tool spells them.
field-filled = ausgefüllt
field-order-id = Bestellnummer
field-email = E-Mail-Adresse
field-phone = Telefonnummer
field-date = Datum
field-time = Uhrzeit
field-name = Name
field-amount = Betrag
field-address = Adresse
field-service = Leistung
field-product = Produkt
field-sku = Artikelnummer
field-reason = Grund
field-to = Adresse des Empfängers
field-subject = Betreff
field-body = Text der Nachricht
field-quantity = Anzahl
