"""The whole schema, with the plans that are shipped.

It is numbered 0006 because it stands for the six steps that made it: a database made by those is up to date as it is,
and no later revision can be mistaken for one of theirs.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0006"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON(none_as_null=True)

_FTS = (
    "CREATE VIRTUAL TABLE knowledge_words USING fts5(scope, head, body, grams,"
    " content='knowledge_passages', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER knowledge_words_added AFTER INSERT ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (rowid, scope, head, body, grams)"
    " VALUES (new.id, new.scope, new.head, new.body, new.grams);"
    " END",
    "CREATE TRIGGER knowledge_words_removed AFTER DELETE ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (knowledge_words, rowid, scope, head, body, grams)"
    " VALUES ('delete', old.id, old.scope, old.head, old.body, old.grams);"
    " END",
)


def _conversation(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", "conversation"],
        ["conversations.tenant", "conversations.id"],
        name=op.f(f"fk_{table}_tenant_conversation_conversations"),
        ondelete="CASCADE",
    )


def _create_partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("revoked_at", sa.Double()),
        sa.Column("used_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_keys_hash")),
    )
    op.create_index("ix_api_keys_tenant", "api_keys", ["tenant"])
    op.create_table(
        "conversations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("language", sa.Text()),
        sa.Column("next_seq", sa.Integer(), nullable=False),
        sa.Column("lease_token", sa.Text()),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("turn", sa.Text()),
        sa.Column("intent", sa.Text()),
        sa.Column("calls", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("person", sa.Text()),
        sa.Column("paused_by", sa.Text()),
        sa.Column("thread", sa.Text()),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_conversations")),
    )
    _create_partial_index("ix_conversations_person", "conversations", ["tenant", "person"], "person IS NOT NULL")
    op.create_index("ix_conversations_tenant_updated_at", "conversations", ["tenant", "updated_at"])
    _create_partial_index("ix_conversations_thread", "conversations", ["tenant", "thread"], "thread IS NOT NULL")
    op.create_table(
        "experiments",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("arms", JSON, nullable=False),
        sa.Column("shares", JSON, nullable=False),
        sa.Column("plan", JSON, nullable=False),
        sa.Column("winner", sa.Text()),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("dropped", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double()),
        sa.Column("ended_at", sa.Double()),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_experiments")),
    )
    op.create_index("ix_experiments_tenant_created_at", "experiments", ["tenant", "created_at"])
    _create_partial_index("uq_experiments_live", "experiments", ["tenant", "kind", "unit"], "live", unique=True)
    op.create_table(
        "knowledge_documents",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("headings", JSON, nullable=False),
        sa.Column("pages", JSON, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_knowledge_documents")),
    )
    op.create_table(
        "labels",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text()),
        sa.Column("decision", sa.Text()),
        sa.Column("confidence", sa.Double()),
        sa.Column("value", JSON),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_labels")),
    )
    op.create_index("ix_labels_tenant_conversation", "labels", ["tenant", "conversation"])
    op.create_index("ix_labels_tenant_kind_at", "labels", ["tenant", "kind", "at"])
    op.create_table(
        "operator_log",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text()),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", JSON),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_log")),
    )
    op.create_index("ix_operator_log_at", "operator_log", ["at"])
    op.create_index("ix_operator_log_tenant_at", "operator_log", ["tenant", "at"])
    op.create_table(
        "operators",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("tenants", JSON),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("disabled_at", sa.Double()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locked_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operators")),
        sa.UniqueConstraint("name", name=op.f("uq_operators_name")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("token", sa.Text()),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    _create_partial_index("ix_outbox_waiting", "outbox", ["next_at"], "state = 'pending'")
    op.create_table(
        "plans",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("multiplier", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_plans")),
    )
    op.create_table(
        "policies",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "version", name=op.f("pk_policies")),
    )
    op.create_index("ix_policies_tenant_hash", "policies", ["tenant", "hash"])
    op.create_table(
        "prompt_versions",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text()),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_prompt_versions")),
    )
    op.create_index("ix_prompt_versions_tenant_name_created_at", "prompt_versions", ["tenant", "name", "created_at"])
    op.create_table(
        "review_evaluations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("client_key", sa.Text()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("controller", sa.Text(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("request", JSON, nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("lease_token", sa.Text()),
        sa.Column("lease_until", sa.Double()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_review_evaluations")),
    )
    op.create_index("ix_review_evaluations_tenant_case_id", "review_evaluations", ["tenant", "case_id"])
    op.create_index("ix_review_evaluations_tenant_created_at", "review_evaluations", ["tenant", "created_at"])
    _create_partial_index(
        "uq_review_evaluations_client_key",
        "review_evaluations",
        ["tenant", "client_key"],
        "client_key IS NOT NULL",
        unique=True,
    )
    op.create_table(
        "review_summaries",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("summaries", JSON, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "key", name=op.f("pk_review_summaries")),
    )
    op.create_table(
        "secrets",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "tools",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("spec", JSON, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_tools")),
    )
    op.create_table(
        "usage",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("critiques", sa.BigInteger(), nullable=False),
        sa.Column("context_fetches", sa.BigInteger(), nullable=False),
        sa.Column("escalations", sa.BigInteger(), nullable=False),
        sa.Column("model_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("billed", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "period", "mode", "model", name=op.f("pk_usage")),
    )
    op.create_table(
        "escalations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("execution", sa.Text()),
        sa.Column("reason_code", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("suggestion", sa.Text()),
        sa.Column("taken_by", sa.Text()),
        sa.Column("taken_at", sa.Double()),
        sa.Column("resolved_by", sa.Text()),
        sa.Column("resolved_at", sa.Double()),
        _conversation("escalations"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_escalations")),
    )
    op.create_index("ix_escalations_tenant_state_created_at", "escalations", ["tenant", "state", "created_at"])
    op.create_table(
        "exposures",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text()),
        sa.Column("case_id", sa.Text()),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("fell_back", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("corrected", sa.Boolean(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("prompts", JSON),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("consistency", sa.Double()),
        sa.Column("similarity", sa.Double()),
        _conversation("exposures"),
        sa.PrimaryKeyConstraint("tenant", "experiment", "turn", name=op.f("pk_exposures")),
    )
    op.create_index("ix_exposures_tenant_case_id", "exposures", ["tenant", "case_id"])
    op.create_index("ix_exposures_tenant_conversation", "exposures", ["tenant", "conversation"])
    op.create_index("ix_exposures_tenant_experiment_arm", "exposures", ["tenant", "experiment", "arm"])
    op.create_table(
        "intents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("call", JSON, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("question_hash", sa.Text(), nullable=False),
        sa.Column("question_seq", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("settled_at", sa.Double()),
        sa.Column("settled_by", sa.Text()),
        _conversation("intents"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intents")),
    )
    op.create_index("ix_intents_tenant_conversation_created_at", "intents", ["tenant", "conversation", "created_at"])
    _create_partial_index("ix_intents_waiting", "intents", ["tenant", "kind", "created_at"], "state = 'pending'")
    op.create_table(
        "knowledge_passages",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("section", sa.Text(), nullable=False),
        sa.Column("path", JSON, nullable=False),
        sa.Column("page", sa.Integer()),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("grams", sa.Text(), nullable=False),
        sa.Column("search", sa.Text().with_variant(TSVECTOR(), "postgresql")),
        sa.Column("embedder", sa.Text()),
        sa.Column("vector", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["tenant", "document"],
            ["knowledge_documents.tenant", "knowledge_documents.id"],
            name=op.f("fk_knowledge_passages_tenant_document_knowledge_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_knowledge_passages")),
    )
    op.create_index(
        "ix_knowledge_passages_search",
        "knowledge_passages",
        ["search"],
        postgresql_using="gin",
        sqlite_where=sa.text("search IS NOT NULL"),
    )
    op.create_index("ix_knowledge_passages_tenant_document", "knowledge_passages", ["tenant", "document"])
    op.create_table(
        "messages",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text()),
        sa.Column("meta", JSON),
        sa.Column("at", sa.Double(), nullable=False),
        _conversation("messages"),
        sa.PrimaryKeyConstraint("tenant", "conversation", "seq", name=op.f("pk_messages")),
    )
    _create_partial_index(
        "ix_messages_reason_code", "messages", ["reason_code", "tenant", "at"], "reason_code IS NOT NULL"
    )
    _create_partial_index("ix_messages_visible", "messages", ["tenant", "conversation", "seq"], "role <> 'internal'")
    op.create_table(
        "operator_sessions",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["operator"], ["operators.id"], name=op.f("fk_operator_sessions_operator_operators"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_operator_sessions")),
    )
    op.create_index("ix_operator_sessions_operator", "operator_sessions", ["operator"])
    op.create_table(
        "review_results",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("evaluation", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("case_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("reason_code", sa.Text()),
        sa.Column("controller", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("result", JSON, nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "evaluation"],
            ["review_evaluations.tenant", "review_evaluations.id"],
            name=op.f("fk_review_results_tenant_evaluation_review_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "evaluation", "case_id", "criterion", name=op.f("pk_review_results")),
    )
    op.create_index("ix_review_results_tenant_case_id", "review_results", ["tenant", "case_id"])
    op.create_table(
        "shadows",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("experiment", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("same", sa.Boolean(), nullable=False),
        sa.Column("differences", JSON, nullable=False),
        sa.Column("live", JSON, nullable=False),
        sa.Column("shadow", JSON, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("cost_usd", sa.Double(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        _conversation("shadows"),
        sa.PrimaryKeyConstraint("tenant", "experiment", "turn", name=op.f("pk_shadows")),
    )
    op.create_index("ix_shadows_tenant_conversation", "shadows", ["tenant", "conversation"])
    op.create_index("ix_shadows_tenant_experiment_at", "shadows", ["tenant", "experiment", "at"])
    op.create_table(
        "tenants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("config", JSON, nullable=False),
        sa.Column("settings", JSON),
        sa.Column("revision", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.name"], name=op.f("fk_tenants_plan_plans")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("client_key", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("language", sa.Text()),
        sa.Column("result", JSON),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        _conversation("turns"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    op.create_index("ix_turns_tenant_started_at", "turns", ["tenant", "started_at"])
    _create_partial_index(
        "uq_turns_client_key", "turns", ["tenant", "client_key", "conversation"], "client_key IS NOT NULL", unique=True
    )
    op.create_table(
        "tool_executions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("arguments", JSON, nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("effect", sa.Text(), nullable=False),
        sa.Column("recovery", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        sa.Column("intent", sa.Text()),
        sa.Column("result", JSON),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text()),
        sa.Column("reported", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["intent"], ["intents.id"], name=op.f("fk_tool_executions_intent_intents")),
        _conversation("tool_executions"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_executions")),
        sa.UniqueConstraint("intent", name=op.f("uq_tool_executions_intent")),
    )
    _create_partial_index(
        "ix_tool_executions_reason_code", "tool_executions", ["reason_code", "tenant"], "reason_code IS NOT NULL"
    )
    _create_partial_index("ix_tool_executions_running", "tool_executions", ["lease_until"], "state = 'started'")
    op.create_index(
        "ix_tool_executions_tenant_conversation_started_at", "tool_executions", ["tenant", "conversation", "started_at"]
    )
    op.create_index("ix_tool_executions_tenant_tool_started_at", "tool_executions", ["tenant", "tool", "started_at"])
    _create_partial_index(
        "ix_tool_executions_unreported", "tool_executions", ["tenant", "conversation"], "NOT reported"
    )
    if op.get_bind().dialect.name == "sqlite":
        for statement in _FTS:
            op.execute(statement)
    plans = sa.table("plans", sa.column("name"), sa.column("mode"), sa.column("multiplier"))
    op.bulk_insert(
        plans,
        [
            {"name": "free", "mode": "standard", "multiplier": 1.0},
            {"name": "pro", "mode": "adaptive", "multiplier": 1.0},
            {"name": "enterprise", "mode": "adaptive", "multiplier": 1.0},
        ],
    )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE knowledge_words")
    for table in (
        "tool_executions",
        "turns",
        "tenants",
        "shadows",
        "review_results",
        "operator_sessions",
        "messages",
        "knowledge_passages",
        "intents",
        "exposures",
        "escalations",
        "usage",
        "tools",
        "secrets",
        "review_summaries",
        "review_evaluations",
        "prompt_versions",
        "policies",
        "plans",
        "outbox",
        "operators",
        "operator_log",
        "labels",
        "knowledge_documents",
        "experiments",
        "conversations",
        "api_keys",
    ):
        op.drop_table(table)
