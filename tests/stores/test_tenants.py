"""Plans, tenants and conversations, as administrators see them."""

from __future__ import annotations

from tests.stores.words import CONVERSATION, TENANT, incoming, later, opened, result, whole_turn

from circumspect.values import Business, ConversationId, Faq, Plan, Tenant, TenantId

BUSINESS = Business(
    name="Marina's Books",
    description="A shop for old books.",
    hours="9 to 5",
    phone="+44 20 7946 0000",
    email="hello@example.com",
    about="Since 1999.",
    contact="1 High Street",
    policies={"returns": "30 days", "privacy": "פרטיות"},
    faqs=(Faq("Do you buy books?", "Yes."), Faq("Вы открыты?", "Да.")),
    instructions="Be brief.",
)


async def test_the_shipped_plans_are_there(store):
    assert await store.plans() == [Plan("enterprise", "adaptive"), Plan("free", "standard"), Plan("pro", "adaptive")]


async def test_a_plan_can_be_changed_and_added(store):
    await store.put_plan(Plan("free", "adaptive", 1.25))
    await store.put_plan(Plan("gold", "standard", 0.5))
    assert await store.get_plan("free") == Plan("free", "adaptive", 1.25)
    assert await store.get_plan("gold") == Plan("gold", "standard", 0.5)
    assert await store.get_plan("lead") is None
    await store.put_plan(Plan("free", "standard", 1.0))


async def test_a_tenant_comes_back_as_it_was(store):
    every_field = Tenant(
        TENANT, BUSINESS, Plan("pro", "adaptive"), "he", frozenset({"refund", "cancel_order"}), adaptive_share=0.25
    )
    plain = Tenant(TenantId("other"), Business("Other"))
    await store.put_tenant(every_field)
    await store.put_tenant(plain)
    assert await store.get_tenant(TENANT) == every_field
    assert await store.tenants() == [plain, every_field]
    assert await store.get_tenant(TenantId("nobody")) is None


async def test_a_tenant_can_be_changed(store):
    await store.put_tenant(Tenant(TENANT, BUSINESS))
    changed = Tenant(TENANT, Business("New name"), Plan("free", "standard"), "ru", frozenset())
    await store.put_tenant(changed)
    assert await store.tenants() == [changed]


async def test_a_tenant_has_the_mode_that_its_plan_has_now(store):
    await store.put_tenant(Tenant(TENANT, BUSINESS, Plan("silver", "adaptive", 2.0)))
    await store.put_plan(Plan("silver", "standard", 3.0))
    assert (await store.get_tenant(TENANT)).plan == Plan("silver", "standard", 3.0)


async def test_a_tenant_cannot_change_a_plan_that_others_have(store):
    await store.put_tenant(Tenant(TENANT, BUSINESS, Plan("enterprise", "standard", 9.0)))
    assert await store.get_plan("enterprise") == Plan("enterprise", "adaptive", 1.0)


async def test_the_most_recently_used_conversations_come_first(store):
    for number, name in enumerate(("a", "b", "c", "a")):
        await whole_turn(store, conversation=ConversationId(name), at=later(number * 60))
    await whole_turn(store, tenant=TenantId("other"), conversation=ConversationId("theirs"))
    rows = await store.conversations(TENANT, 2)
    assert [(row.id, row.mode, row.language, row.messages) for row in rows] == [
        ("a", "adaptive", "en", 8),
        ("c", "adaptive", "en", 4),
    ]
    assert (rows[0].created_at, rows[0].updated_at) == (later(0), later(180))


async def test_a_result_is_there_once_the_turn_is_done_and_only_for_its_tenant(store):
    turn = await whole_turn(store)
    assert (await store.result_of(turn.turn)).to_json() == result(turn).to_json()
    assert await store.result_of(turn.turn, tenant=TENANT) is not None
    assert await store.result_of(turn.turn, tenant=TenantId("other")) is None
    running = incoming(at=later(60))
    await opened(store, running)
    assert await store.result_of(running.turn) is None
    assert len(await store.messages(TENANT, CONVERSATION)) == 3
