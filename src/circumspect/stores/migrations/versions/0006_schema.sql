-- The whole schema, in PostgreSQL's words; 0006_schema.py has SQLite's for the few that differ.

CREATE TABLE api_keys (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes JSON NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION,
    used_at DOUBLE PRECISION,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT uq_api_keys_hash UNIQUE (hash)
);
CREATE INDEX ix_api_keys_tenant ON api_keys (tenant);

CREATE TABLE conversations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    mode TEXT NOT NULL,
    drawn BOOLEAN NOT NULL,
    language TEXT,
    next_seq INTEGER NOT NULL,
    lease_token TEXT,
    lease_until DOUBLE PRECISION NOT NULL,
    turn TEXT,
    intent TEXT,
    calls BOOLEAN NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    person TEXT,
    paused_by TEXT,
    thread TEXT,
    wishes JSON,
    CONSTRAINT pk_conversations PRIMARY KEY (tenant, id)
);
CREATE INDEX ix_conversations_id ON conversations (id);
CREATE INDEX ix_conversations_language_tenant ON conversations (language, tenant);
CREATE INDEX ix_conversations_mode_tenant ON conversations (mode, tenant);
CREATE INDEX ix_conversations_person ON conversations (person, tenant, updated_at, id) WHERE person IS NOT NULL;
CREATE INDEX ix_conversations_tenant_updated_at_id ON conversations (tenant, updated_at, id);
CREATE INDEX ix_conversations_thread ON conversations (tenant, thread) WHERE thread IS NOT NULL;
CREATE INDEX ix_conversations_updated_at_id ON conversations (updated_at, id);

CREATE TABLE experiments (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    unit TEXT NOT NULL,
    state TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    arms JSON NOT NULL,
    shares JSON NOT NULL,
    "plan" JSON NOT NULL,
    winner TEXT,
    note TEXT NOT NULL,
    dropped INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    started_at DOUBLE PRECISION,
    ended_at DOUBLE PRECISION,
    CONSTRAINT pk_experiments PRIMARY KEY (tenant, id)
);
CREATE INDEX ix_experiments_tenant_created_at ON experiments (tenant, created_at);
CREATE UNIQUE INDEX uq_experiments_live ON experiments (tenant, kind, unit) WHERE live;

CREATE TABLE knowledge_documents (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    hash TEXT NOT NULL,
    language TEXT NOT NULL,
    text TEXT NOT NULL,
    headings JSON NOT NULL,
    pages JSON NOT NULL,
    CONSTRAINT pk_knowledge_documents PRIMARY KEY (tenant, id)
);

CREATE TABLE labels (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn TEXT,
    kind TEXT NOT NULL,
    tool TEXT,
    decision TEXT,
    confidence DOUBLE PRECISION,
    value JSON,
    split TEXT NOT NULL,
    "by" TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_labels PRIMARY KEY (tenant, id)
);
CREATE INDEX ix_labels_tenant_conversation ON labels (tenant, conversation);
CREATE INDEX ix_labels_kind_at ON labels (kind, at);
CREATE INDEX ix_labels_tenant_kind_at ON labels (tenant, kind, at);

CREATE TABLE mcp_sessions (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    can_ask BOOLEAN NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    used_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_mcp_sessions PRIMARY KEY (id)
);
CREATE INDEX ix_mcp_sessions_tenant_owner_used_at ON mcp_sessions (tenant, owner, used_at);
CREATE INDEX ix_mcp_sessions_used_at ON mcp_sessions (used_at);

CREATE TABLE mcp_questions (
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    request TEXT NOT NULL,
    answer JSON,
    CONSTRAINT pk_mcp_questions PRIMARY KEY (id),
    CONSTRAINT fk_mcp_questions_session_mcp_sessions FOREIGN KEY(session) REFERENCES mcp_sessions (id) ON DELETE CASCADE
);
CREATE INDEX ix_mcp_questions_session ON mcp_questions (session);

CREATE TABLE operator_log (
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    operator TEXT NOT NULL,
    action TEXT NOT NULL,
    tenant TEXT,
    subject TEXT NOT NULL,
    detail JSON,
    origin TEXT NOT NULL,
    result TEXT NOT NULL,
    hash TEXT NOT NULL,
    CONSTRAINT pk_operator_log PRIMARY KEY (id),
    CONSTRAINT uq_operator_log_seq UNIQUE (seq)
);
CREATE INDEX ix_operator_log_at_id ON operator_log (at, id);
CREATE INDEX ix_operator_log_operator_at_id ON operator_log (operator, at, id);
CREATE INDEX ix_operator_log_action_at_id ON operator_log (action, at, id);
CREATE INDEX ix_operator_log_subject_tenant_at_id ON operator_log (subject, tenant, at, id);
CREATE INDEX ix_operator_log_tenant_at_id ON operator_log (tenant, at, id);
CREATE INDEX ix_operator_log_cuts ON operator_log (seq) WHERE action = 'log.cut';

CREATE TABLE log_exports (
    target TEXT NOT NULL,
    seq BIGINT NOT NULL,
    token TEXT,
    leased_until DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_log_exports PRIMARY KEY (target)
);

CREATE TABLE log_persons (
    tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    pseudonym TEXT NOT NULL,
    CONSTRAINT pk_log_persons PRIMARY KEY (tenant, person),
    CONSTRAINT uq_log_persons_pseudonym UNIQUE (pseudonym)
);

CREATE TABLE operators (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    password TEXT NOT NULL,
    role TEXT NOT NULL,
    tenants JSON,
    created_at DOUBLE PRECISION NOT NULL,
    disabled_at DOUBLE PRECISION,
    identity TEXT,
    profile JSON,
    CONSTRAINT pk_operators PRIMARY KEY (id),
    CONSTRAINT uq_operators_identity UNIQUE (identity),
    CONSTRAINT uq_operators_name UNIQUE (name)
);

CREATE TABLE outbox (
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload JSON NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    token TEXT,
    next_at DOUBLE PRECISION NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    tenant TEXT,
    conversation TEXT,
    CONSTRAINT pk_outbox PRIMARY KEY (id)
);
CREATE INDEX ix_outbox_dead ON outbox (created_at) WHERE state = 'dead';
CREATE INDEX ix_outbox_delivered ON outbox (created_at) WHERE state = 'delivered';
CREATE INDEX ix_outbox_created_at_id ON outbox (created_at, id);
CREATE INDEX ix_outbox_tenant_conversation ON outbox (tenant, conversation);
CREATE INDEX ix_outbox_tenant_created_at_id ON outbox (tenant, created_at, id);
CREATE INDEX ix_outbox_waiting ON outbox (next_at) WHERE state = 'pending';

CREATE TABLE plans (
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    multiplier DOUBLE PRECISION NOT NULL,
    quota BIGINT,
    message_price DOUBLE PRECISION DEFAULT '0' NOT NULL,
    CONSTRAINT pk_plans PRIMARY KEY (name)
);

CREATE TABLE policies (
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    note TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_policies PRIMARY KEY (tenant, version)
);
CREATE INDEX ix_policies_tenant_hash ON policies (tenant, hash);

CREATE TABLE prompt_versions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    parent TEXT,
    note TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_prompt_versions PRIMARY KEY (tenant, id)
);
CREATE INDEX ix_prompt_versions_tenant_name_created_at ON prompt_versions (tenant, name, created_at);

CREATE TABLE reason_days (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_reason_days PRIMARY KEY (tenant, day, reason_code)
);
CREATE INDEX ix_reason_days_day ON reason_days (day);

CREATE TABLE escalation_days (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_escalation_days PRIMARY KEY (tenant, day)
);
CREATE INDEX ix_escalation_days_day ON escalation_days (day);

CREATE TABLE held_days (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    fate TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_held_days PRIMARY KEY (tenant, day, reason_code, fate)
);
CREATE INDEX ix_held_days_day ON held_days (day);

CREATE TABLE evaluation_usage (
    tenant TEXT NOT NULL,
    period TEXT NOT NULL,
    controller TEXT NOT NULL,
    model TEXT NOT NULL,
    verdicts BIGINT NOT NULL,
    met BIGINT NOT NULL,
    not_met BIGINT NOT NULL,
    uncertain BIGINT NOT NULL,
    model_calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    billed DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_evaluation_usage PRIMARY KEY (tenant, period, controller, model)
);

CREATE TABLE review_evaluations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    case_id TEXT NOT NULL,
    client_key TEXT,
    state TEXT NOT NULL,
    controller TEXT NOT NULL,
    total INTEGER NOT NULL,
    request JSON NOT NULL,
    error TEXT,
    lease_token TEXT,
    lease_until DOUBLE PRECISION,
    created_at DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION,
    CONSTRAINT pk_review_evaluations PRIMARY KEY (tenant, id)
);
CREATE INDEX ix_review_evaluations_tenant_case_id ON review_evaluations (tenant, case_id);
CREATE INDEX ix_review_evaluations_tenant_created_at ON review_evaluations (tenant, created_at);
CREATE UNIQUE INDEX uq_review_evaluations_client_key ON review_evaluations (tenant, client_key) WHERE client_key IS NOT NULL;

CREATE TABLE review_summaries (
    tenant TEXT NOT NULL,
    "key" TEXT NOT NULL,
    summaries JSON NOT NULL,
    CONSTRAINT pk_review_summaries PRIMARY KEY (tenant, "key")
);

CREATE TABLE secrets (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_secrets PRIMARY KEY (tenant, name)
);

CREATE TABLE seen_tools (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    spec JSON NOT NULL,
    seen_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_seen_tools PRIMARY KEY (tenant, name)
);

CREATE TABLE tools (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    spec JSON NOT NULL,
    CONSTRAINT pk_tools PRIMARY KEY (tenant, name)
);

CREATE TABLE turn_days (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    mode TEXT NOT NULL,
    outcome TEXT NOT NULL,
    turns BIGINT NOT NULL,
    criticised BIGINT NOT NULL,
    fetched BIGINT NOT NULL,
    rounds BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    standard_calls BIGINT NOT NULL,
    standard_tokens DOUBLE PRECISION NOT NULL,
    standard_cost DOUBLE PRECISION NOT NULL,
    standard_rate DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_turn_days PRIMARY KEY (tenant, day, mode, outcome)
);
CREATE INDEX ix_turn_days_day ON turn_days (day);

CREATE TABLE usage (
    tenant TEXT NOT NULL,
    period TEXT NOT NULL,
    mode TEXT NOT NULL,
    model TEXT NOT NULL,
    messages BIGINT NOT NULL,
    critiques BIGINT NOT NULL,
    context_fetches BIGINT NOT NULL,
    escalations BIGINT NOT NULL,
    model_calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    billed DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_usage PRIMARY KEY (tenant, period, mode, model)
);

CREATE TABLE escalations (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn TEXT NOT NULL,
    execution TEXT,
    reason_code TEXT NOT NULL,
    summary TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    suggestion TEXT,
    taken_by TEXT,
    taken_at DOUBLE PRECISION,
    resolved_by TEXT,
    resolved_at DOUBLE PRECISION,
    CONSTRAINT pk_escalations PRIMARY KEY (id),
    CONSTRAINT fk_escalations_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_escalations_tenant_conversation_created_at ON escalations (tenant, conversation, created_at);
CREATE INDEX ix_escalations_created_at_id ON escalations (created_at, id);
CREATE INDEX ix_escalations_state_created_at_id ON escalations (state, created_at, id);
CREATE INDEX ix_escalations_tenant_created_at_id ON escalations (tenant, created_at, id);
CREATE INDEX ix_escalations_tenant_state_created_at_id ON escalations (tenant, state, created_at, id);
CREATE INDEX ix_escalations_unresolved ON escalations (created_at, id) WHERE state <> 'resolved';
CREATE INDEX ix_escalations_unresolved_tenant ON escalations (tenant, created_at, id) WHERE state <> 'resolved';

CREATE TABLE exposures (
    tenant TEXT NOT NULL,
    experiment TEXT NOT NULL,
    turn TEXT NOT NULL,
    conversation TEXT,
    case_id TEXT,
    arm TEXT NOT NULL,
    period INTEGER NOT NULL,
    fell_back BOOLEAN NOT NULL,
    outcome TEXT NOT NULL,
    denied BOOLEAN NOT NULL,
    corrected BOOLEAN NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    tokens INTEGER NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    calls INTEGER NOT NULL,
    prompts JSON,
    at DOUBLE PRECISION NOT NULL,
    consistency DOUBLE PRECISION,
    similarity DOUBLE PRECISION,
    citations DOUBLE PRECISION,
    CONSTRAINT pk_exposures PRIMARY KEY (tenant, experiment, turn),
    CONSTRAINT fk_exposures_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_exposures_tenant_case_id ON exposures (tenant, case_id);
CREATE INDEX ix_exposures_tenant_conversation ON exposures (tenant, conversation);
CREATE INDEX ix_exposures_tenant_experiment_arm ON exposures (tenant, experiment, arm);

CREATE TABLE intents (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    call JSON NOT NULL,
    hash TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    principal TEXT NOT NULL,
    nonce TEXT NOT NULL,
    question TEXT NOT NULL,
    question_hash TEXT NOT NULL,
    question_seq INTEGER NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    settled_at DOUBLE PRECISION,
    settled_by TEXT,
    proposed_by JSON NOT NULL,
    edited_by JSON NOT NULL,
    keys_approve BOOLEAN NOT NULL,
    facts JSON NOT NULL,
    CONSTRAINT pk_intents PRIMARY KEY (id),
    CONSTRAINT fk_intents_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_intents_tenant_conversation_created_at ON intents (tenant, conversation, created_at);
CREATE INDEX ix_intents_tenant_hash ON intents (tenant, hash);
CREATE INDEX ix_intents_approvals ON intents (created_at, id) WHERE kind = 'approval';
CREATE INDEX ix_intents_approvals_tenant ON intents (tenant, created_at, id) WHERE kind = 'approval';
CREATE INDEX ix_intents_waiting ON intents (kind, expires_at, tenant) WHERE state = 'pending';

CREATE TABLE knowledge_passages (
    id SERIAL NOT NULL,
    tenant TEXT NOT NULL,
    document TEXT NOT NULL,
    section TEXT NOT NULL,
    path JSON NOT NULL,
    page INTEGER,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    scope TEXT NOT NULL,
    head TEXT NOT NULL,
    body TEXT NOT NULL,
    grams TEXT NOT NULL,
    search TSVECTOR,
    embedder TEXT,
    vector BYTEA,
    CONSTRAINT pk_knowledge_passages PRIMARY KEY (id),
    CONSTRAINT fk_knowledge_passages_tenant_document_knowledge_documents FOREIGN KEY(tenant, document) REFERENCES knowledge_documents (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_knowledge_passages_search ON knowledge_passages USING gin (search);
CREATE INDEX ix_knowledge_passages_tenant_document ON knowledge_passages (tenant, document);

CREATE TABLE messages (
    id BIGSERIAL NOT NULL,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    reason_code TEXT,
    meta JSON,
    at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_messages PRIMARY KEY (id),
    CONSTRAINT fk_messages_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE,
    CONSTRAINT uq_messages_tenant_conversation_seq UNIQUE (tenant, conversation, seq)
);
CREATE INDEX ix_messages_visible ON messages (tenant, conversation, seq) WHERE role <> 'internal';

CREATE TABLE operator_challenges (
    hash TEXT NOT NULL,
    purpose TEXT NOT NULL,
    operator TEXT,
    expires_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_operator_challenges PRIMARY KEY (hash),
    CONSTRAINT fk_operator_challenges_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE
);
CREATE INDEX ix_operator_challenges_expires_at ON operator_challenges (expires_at);
CREATE INDEX ix_operator_challenges_operator ON operator_challenges (operator);

CREATE TABLE operator_code_apps (
    operator TEXT NOT NULL,
    sealed TEXT,
    created_at DOUBLE PRECISION,
    step BIGINT NOT NULL,
    failures INTEGER NOT NULL,
    locked_until DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_operator_code_apps PRIMARY KEY (operator),
    CONSTRAINT fk_operator_code_apps_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE
);

CREATE TABLE operator_passkeys (
    id TEXT NOT NULL,
    operator TEXT NOT NULL,
    name TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    uses BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    used_at DOUBLE PRECISION,
    CONSTRAINT pk_operator_passkeys PRIMARY KEY (id),
    CONSTRAINT fk_operator_passkeys_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE
);
CREATE INDEX ix_operator_passkeys_operator ON operator_passkeys (operator);

CREATE TABLE operator_recovery_codes (
    operator TEXT NOT NULL,
    hash TEXT NOT NULL,
    CONSTRAINT pk_operator_recovery_codes PRIMARY KEY (operator, hash),
    CONSTRAINT fk_operator_recovery_codes_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE
);

CREATE TABLE operator_sessions (
    hash TEXT NOT NULL,
    id TEXT NOT NULL,
    operator TEXT NOT NULL,
    method TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    authenticated_at DOUBLE PRECISION NOT NULL,
    seen_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    address TEXT NOT NULL,
    client TEXT NOT NULL,
    device TEXT NOT NULL,
    CONSTRAINT pk_operator_sessions PRIMARY KEY (hash),
    CONSTRAINT fk_operator_sessions_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE,
    CONSTRAINT uq_operator_sessions_id UNIQUE (id)
);
CREATE INDEX ix_operator_sessions_expires_at ON operator_sessions (expires_at);
CREATE INDEX ix_operator_sessions_operator ON operator_sessions (operator);

CREATE TABLE sign_in_attempts (
    operator TEXT NOT NULL,
    bucket TEXT NOT NULL,
    failures INTEGER NOT NULL,
    until DOUBLE PRECISION NOT NULL,
    tried_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_sign_in_attempts PRIMARY KEY (operator, bucket),
    CONSTRAINT fk_sign_in_attempts_operator_operators FOREIGN KEY(operator) REFERENCES operators (id) ON DELETE CASCADE
);
CREATE INDEX ix_sign_in_attempts_tried_at ON sign_in_attempts (tried_at);

CREATE TABLE review_results (
    tenant TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    case_id TEXT NOT NULL,
    criterion TEXT NOT NULL,
    position INTEGER NOT NULL,
    case_hash TEXT NOT NULL,
    status TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    reason_code TEXT,
    controller TEXT NOT NULL,
    prompt_id TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    result JSON NOT NULL,
    made_at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_review_results PRIMARY KEY (tenant, evaluation, case_id, criterion),
    CONSTRAINT fk_review_results_tenant_evaluation_review_evaluations FOREIGN KEY(tenant, evaluation) REFERENCES review_evaluations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_review_results_tenant_case_id ON review_results (tenant, case_id);

CREATE TABLE shadows (
    tenant TEXT NOT NULL,
    experiment TEXT NOT NULL,
    turn TEXT NOT NULL,
    conversation TEXT,
    same BOOLEAN NOT NULL,
    differences JSON NOT NULL,
    live JSON NOT NULL,
    shadow JSON NOT NULL,
    error TEXT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    tokens INTEGER NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    case_id TEXT,
    CONSTRAINT pk_shadows PRIMARY KEY (tenant, experiment, turn),
    CONSTRAINT fk_shadows_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_shadows_at_turn ON shadows (at, turn);
CREATE INDEX ix_shadows_tenant_at_turn ON shadows (tenant, at, turn);
CREATE INDEX ix_shadows_tenant_case_id ON shadows (tenant, case_id);
CREATE INDEX ix_shadows_tenant_conversation_at ON shadows (tenant, conversation, at);
CREATE INDEX ix_shadows_tenant_experiment_at ON shadows (tenant, experiment, at);

CREATE TABLE tenants (
    id TEXT NOT NULL,
    "plan" TEXT NOT NULL,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    config JSON NOT NULL,
    settings JSON,
    revision INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_tenants PRIMARY KEY (id),
    CONSTRAINT fk_tenants_plan_plans FOREIGN KEY("plan") REFERENCES plans (name)
);

CREATE TABLE turn_marks (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    mark TEXT NOT NULL,
    turn TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_turn_marks PRIMARY KEY (tenant, conversation, mark, turn),
    CONSTRAINT fk_turn_marks_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_turn_marks_mark_tenant_at ON turn_marks (mark, tenant, at);

CREATE TABLE held_calls (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    tool TEXT NOT NULL,
    arguments JSON NOT NULL,
    hash TEXT NOT NULL,
    verdict TEXT NOT NULL,
    rule TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    policy TEXT NOT NULL,
    fate TEXT NOT NULL,
    CONSTRAINT pk_held_calls PRIMARY KEY (tenant, conversation, seq),
    CONSTRAINT fk_held_calls_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_held_calls_fate_tenant_at ON held_calls (fate, tenant, at);
CREATE INDEX ix_held_calls_tenant_tool_rule_at ON held_calls (tenant, tool, rule, at);

CREATE TABLE turns (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    client_key TEXT,
    account TEXT,
    status TEXT NOT NULL,
    outcome TEXT,
    mode TEXT NOT NULL,
    language TEXT,
    result JSON,
    first_seq INTEGER NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION,
    CONSTRAINT pk_turns PRIMARY KEY (id),
    CONSTRAINT fk_turns_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_turns_outcome_tenant_started_at ON turns (outcome, tenant, started_at);
CREATE INDEX ix_turns_started_at ON turns (started_at);
CREATE INDEX ix_turns_tenant_conversation ON turns (tenant, conversation);
CREATE INDEX ix_turns_tenant_started_at ON turns (tenant, started_at);
CREATE INDEX ix_turns_unfinished ON turns (tenant, started_at) WHERE status <> 'done';
CREATE UNIQUE INDEX uq_turns_client_key ON turns (tenant, client_key, conversation) WHERE client_key IS NOT NULL;

CREATE TABLE tool_executions (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments JSON NOT NULL,
    call_id TEXT NOT NULL,
    effect TEXT NOT NULL,
    recovery TEXT NOT NULL,
    state TEXT NOT NULL,
    token TEXT NOT NULL,
    lease_until DOUBLE PRECISION NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION,
    intent TEXT,
    result JSON,
    error TEXT NOT NULL,
    reason_code TEXT,
    reported BOOLEAN NOT NULL,
    runner TEXT NOT NULL,
    CONSTRAINT pk_tool_executions PRIMARY KEY (id),
    CONSTRAINT fk_tool_executions_tenant_conversation_conversations FOREIGN KEY(tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE,
    CONSTRAINT uq_tool_executions_intent UNIQUE (intent),
    CONSTRAINT fk_tool_executions_intent_intents FOREIGN KEY(intent) REFERENCES intents (id)
);
CREATE INDEX ix_tool_executions_reason_code ON tool_executions (reason_code, tenant) WHERE reason_code IS NOT NULL;
CREATE INDEX ix_tool_executions_running ON tool_executions (lease_until) WHERE state = 'started';
CREATE INDEX ix_tool_executions_tenant_conversation_started_at ON tool_executions (tenant, conversation, started_at);
CREATE INDEX ix_tool_executions_tool_tenant_started_at ON tool_executions (tool, tenant, started_at);
CREATE INDEX ix_tool_executions_unreported ON tool_executions (tenant, conversation) WHERE NOT reported;

CREATE TABLE policy_drafts (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    base INTEGER NOT NULL,
    text TEXT NOT NULL,
    note TEXT NOT NULL,
    changes JSON NOT NULL,
    created_by TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    state TEXT NOT NULL,
    settled_by TEXT,
    settled_at DOUBLE PRECISION,
    version INTEGER,
    CONSTRAINT pk_policy_drafts PRIMARY KEY (id)
);
CREATE INDEX ix_policy_drafts_tenant_version ON policy_drafts (tenant, version);
CREATE INDEX ix_policy_drafts_waiting ON policy_drafts (created_at, id) WHERE state = 'waiting';

CREATE TABLE work_items (
    about TEXT NOT NULL,
    item TEXT NOT NULL,
    tenant TEXT,
    conversation TEXT,
    assignee TEXT,
    snoozed_until DOUBLE PRECISION,
    CONSTRAINT pk_work_items PRIMARY KEY (about, item)
);
CREATE INDEX ix_work_items_tenant_conversation ON work_items (tenant, conversation);

CREATE TABLE work_notes (
    id TEXT NOT NULL,
    about TEXT NOT NULL,
    item TEXT NOT NULL,
    tenant TEXT,
    conversation TEXT,
    "by" TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT pk_work_notes PRIMARY KEY (id)
);
CREATE INDEX ix_work_notes_item_about_at ON work_notes (item, about, at);
CREATE INDEX ix_work_notes_tenant_conversation ON work_notes (tenant, conversation);
