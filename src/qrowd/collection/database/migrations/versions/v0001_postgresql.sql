CREATE TABLE account (
    id BIGSERIAL NOT NULL,
    login VARCHAR(200) NOT NULL,
    password VARCHAR(300) NOT NULL,
    made_at BIGINT NOT NULL,
    administrator SMALLINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_account PRIMARY KEY (id),
    CONSTRAINT uq_account_login UNIQUE (login)
);

CREATE TABLE campaign (
    id BIGSERIAL NOT NULL,
    name VARCHAR(200) NOT NULL,
    plan TEXT NOT NULL,
    state VARCHAR(20) DEFAULT 'draft' NOT NULL,
    made_at BIGINT NOT NULL,
    secret VARCHAR(64) NOT NULL,
    budget BIGINT DEFAULT 0 NOT NULL,
    free BIGINT DEFAULT 0 NOT NULL,
    promised BIGINT DEFAULT 0 NOT NULL,
    owed BIGINT DEFAULT 0 NOT NULL,
    settled BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_campaign PRIMARY KEY (id),
    CONSTRAINT ck_campaign_state_known CHECK (state IN ('draft', 'running', 'paused', 'closed')),
    CONSTRAINT ck_campaign_balanced CHECK (budget = free + promised + owed + settled),
    CONSTRAINT ck_campaign_no_debt CHECK (free >= 0 AND promised >= 0 AND owed >= 0 AND settled >= 0),
    CONSTRAINT uq_campaign_name UNIQUE (name)
);

CREATE TABLE content (
    hash VARCHAR(64) NOT NULL,
    body BYTEA NOT NULL,
    CONSTRAINT pk_content PRIMARY KEY (hash)
);

CREATE TABLE rate (
    what VARCHAR(200) NOT NULL,
    since BIGINT NOT NULL,
    times BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_rate PRIMARY KEY (what, since)
);

CREATE TABLE audit (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    who VARCHAR(200) NOT NULL,
    act VARCHAR(40) NOT NULL,
    details TEXT NOT NULL,
    undoes BIGINT,
    CONSTRAINT pk_audit PRIMARY KEY (id),
    CONSTRAINT uq_audit_undoes UNIQUE (undoes),
    CONSTRAINT fk_audit_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_audit_undoes FOREIGN KEY(undoes) REFERENCES audit (id)
);

CREATE INDEX ix_audit_campaign_id ON audit (campaign_id);

CREATE TABLE document (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    name VARCHAR(1000) NOT NULL,
    title TEXT DEFAULT '' NOT NULL,
    url TEXT DEFAULT '' NOT NULL,
    media_type VARCHAR(200) DEFAULT 'text/plain' NOT NULL,
    content VARCHAR(64),
    CONSTRAINT pk_document PRIMARY KEY (id),
    CONSTRAINT uq_document_campaign_id_name UNIQUE (campaign_id, name),
    CONSTRAINT fk_document_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_document_content FOREIGN KEY(content) REFERENCES content (hash)
);

CREATE TABLE job (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT,
    kind VARCHAR(40) NOT NULL,
    parameters TEXT DEFAULT '{}' NOT NULL,
    state VARCHAR(20) DEFAULT 'waiting' NOT NULL,
    made_at BIGINT NOT NULL,
    leased_until BIGINT,
    attempts BIGINT DEFAULT 0 NOT NULL,
    finished_at BIGINT,
    result TEXT,
    problem TEXT,
    CONSTRAINT pk_job PRIMARY KEY (id),
    CONSTRAINT ck_job_state_known CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    CONSTRAINT fk_job_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);

CREATE INDEX ix_job_waiting ON job (state, made_at);

CREATE TABLE notice (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind VARCHAR(40) NOT NULL,
    about VARCHAR(100) DEFAULT '' NOT NULL,
    text TEXT NOT NULL,
    settled_at BIGINT,
    CONSTRAINT pk_notice PRIMARY KEY (id),
    CONSTRAINT uq_notice_campaign_id_kind_about UNIQUE (campaign_id, kind, about),
    CONSTRAINT fk_notice_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);

CREATE INDEX ix_notice_campaign_id ON notice (campaign_id);

CREATE TABLE topic (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    name VARCHAR(400) NOT NULL,
    query TEXT DEFAULT '' NOT NULL,
    description TEXT DEFAULT '' NOT NULL,
    narrative TEXT DEFAULT '' NOT NULL,
    category TEXT DEFAULT '' NOT NULL,
    language TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_topic PRIMARY KEY (id),
    CONSTRAINT uq_topic_campaign_id_name UNIQUE (campaign_id, name),
    CONSTRAINT fk_topic_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);

CREATE TABLE worker (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    key VARCHAR(32) NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR(20) DEFAULT 'human' NOT NULL,
    name VARCHAR(400),
    state VARCHAR(20) DEFAULT 'new' NOT NULL,
    failed_hits BIGINT DEFAULT 0 NOT NULL,
    made_at BIGINT NOT NULL,
    forget_asked BIGINT,
    forgotten_at BIGINT,
    recognised VARCHAR(64),
    CONSTRAINT pk_worker PRIMARY KEY (id),
    CONSTRAINT uq_worker_campaign_id_number UNIQUE (campaign_id, number),
    CONSTRAINT uq_worker_campaign_id_recognised UNIQUE (campaign_id, recognised),
    CONSTRAINT uq_worker_campaign_id_kind_name UNIQUE (campaign_id, kind, name),
    CONSTRAINT ck_worker_state_known CHECK (state IN ('new', 'qualified', 'failed', 'screened-out', 'stopped')),
    CONSTRAINT ck_worker_kind_known CHECK (kind IN ('human', 'expert', 'machine')),
    CONSTRAINT ck_worker_people_live_apart CHECK (kind <> 'human' OR name IS NULL),
    CONSTRAINT fk_worker_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT uq_worker_key UNIQUE (key)
);

CREATE TABLE assignment (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    worker_id BIGINT NOT NULL,
    key VARCHAR(32) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    state VARCHAR(20) DEFAULT 'active' NOT NULL,
    attempt BIGINT DEFAULT 1 NOT NULL,
    leased_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    latest_end BIGINT NOT NULL,
    finished_at BIGINT,
    ended_at BIGINT,
    pay BIGINT DEFAULT 0 NOT NULL,
    promised BIGINT DEFAULT 0 NOT NULL,
    earned BIGINT DEFAULT 0 NOT NULL,
    paid BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_assignment PRIMARY KEY (id),
    CONSTRAINT uq_assignment_id_worker_id UNIQUE (id, worker_id),
    CONSTRAINT ck_assignment_kind_known CHECK (kind IN ('judge', 'qualification', 'second', 'review', 'expert', 'machine')),
    CONSTRAINT ck_assignment_state_known CHECK (state IN ('active', 'finished', 'submitted', 'accepted', 'returned', 'excluded', 'screened-out', 'refused', 'expired')),
    CONSTRAINT ck_assignment_no_debt CHECK (promised >= 0 AND earned >= 0 AND paid >= 0),
    CONSTRAINT ck_assignment_lease_has_an_end CHECK (expires_at <= latest_end),
    CONSTRAINT fk_assignment_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_assignment_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT uq_assignment_key UNIQUE (key)
);

CREATE INDEX ix_assignment_due ON assignment (campaign_id, state, expires_at);

CREATE INDEX ix_assignment_promised ON assignment (campaign_id, state) WHERE promised > 0;

CREATE INDEX ix_assignment_worker_id ON assignment (worker_id);

CREATE UNIQUE INDEX uq_assignment_one_open ON assignment (worker_id, kind) WHERE state IN ('active', 'finished') AND kind <> 'machine';

CREATE TABLE completion_code (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    code VARCHAR(64) NOT NULL,
    outcome VARCHAR(20) NOT NULL,
    made_at BIGINT NOT NULL,
    used_at BIGINT,
    CONSTRAINT pk_completion_code PRIMARY KEY (id),
    CONSTRAINT fk_completion_code_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT uq_completion_code_code UNIQUE (code)
);

CREATE INDEX ix_completion_code_worker_id ON completion_code (worker_id);

CREATE TABLE consent (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    version VARCHAR(40) NOT NULL,
    text TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_consent PRIMARY KEY (id),
    CONSTRAINT fk_consent_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id)
);

CREATE INDEX ix_consent_worker_id ON consent (worker_id);

CREATE TABLE expertise (
    worker_id BIGINT NOT NULL,
    topic_id BIGINT NOT NULL,
    "right" INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    passed SMALLINT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_expertise PRIMARY KEY (worker_id, topic_id),
    CONSTRAINT fk_expertise_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_expertise_topic_id FOREIGN KEY(topic_id) REFERENCES topic (id)
);

CREATE TABLE judging_set (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    topic_id BIGINT NOT NULL,
    role VARCHAR(20) NOT NULL,
    size INTEGER NOT NULL,
    target BIGINT DEFAULT 0 NOT NULL,
    held BIGINT DEFAULT 0 NOT NULL,
    open SMALLINT DEFAULT 1 NOT NULL,
    priority FLOAT(53) DEFAULT 0 NOT NULL,
    shuffle BIGINT NOT NULL,
    CONSTRAINT pk_judging_set PRIMARY KEY (id),
    CONSTRAINT uq_judging_set_id_role UNIQUE (id, role),
    CONSTRAINT ck_judging_set_role_known CHECK (role IN ('pool', 'gold', 'qualification')),
    CONSTRAINT ck_judging_set_held_at_most_target CHECK (held >= 0 AND held <= target),
    CONSTRAINT ck_judging_set_only_pool_counts CHECK (role = 'pool' OR target = 0),
    CONSTRAINT ck_judging_set_not_empty CHECK (size >= 1),
    CONSTRAINT fk_judging_set_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_judging_set_topic_id FOREIGN KEY(topic_id) REFERENCES topic (id)
);

CREATE INDEX ix_judging_set_pick ON judging_set (campaign_id, priority DESC, held, shuffle) WHERE role = 'pool' AND open = 1 AND held < target;

CREATE INDEX ix_judging_set_role ON judging_set (campaign_id, role);

CREATE INDEX ix_judging_set_topic_id ON judging_set (topic_id);

CREATE TABLE member_role (
    account_id BIGINT NOT NULL,
    campaign_id BIGINT NOT NULL,
    role VARCHAR(20) NOT NULL,
    worker_id BIGINT,
    CONSTRAINT pk_member_role PRIMARY KEY (account_id, campaign_id, role),
    CONSTRAINT ck_member_role_role_known CHECK (role IN ('organiser', 'expert', 'worker')),
    CONSTRAINT fk_member_role_account_id FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT fk_member_role_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_member_role_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id)
);

CREATE TABLE message (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    from_worker SMALLINT NOT NULL,
    text TEXT NOT NULL,
    read_at BIGINT,
    CONSTRAINT pk_message PRIMARY KEY (id),
    CONSTRAINT fk_message_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id)
);

CREATE INDEX ix_message_worker_id ON message (worker_id);

CREATE TABLE pair (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    topic_id BIGINT NOT NULL,
    document_id BIGINT NOT NULL,
    role VARCHAR(20) NOT NULL,
    in_pool SMALLINT DEFAULT 0 NOT NULL,
    priority FLOAT(53) DEFAULT 0 NOT NULL,
    CONSTRAINT pk_pair PRIMARY KEY (id),
    CONSTRAINT uq_pair_topic_id_document_id UNIQUE (topic_id, document_id),
    CONSTRAINT uq_pair_id_role UNIQUE (id, role),
    CONSTRAINT ck_pair_role_known CHECK (role IN ('pool', 'gold', 'qualification')),
    CONSTRAINT fk_pair_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_pair_topic_id FOREIGN KEY(topic_id) REFERENCES topic (id),
    CONSTRAINT fk_pair_document_id FOREIGN KEY(document_id) REFERENCES document (id)
);

CREATE INDEX ix_pair_campaign_id ON pair (campaign_id);

CREATE TABLE person (
    worker_id BIGINT NOT NULL,
    campaign_id BIGINT NOT NULL,
    platform VARCHAR(40) NOT NULL,
    platform_id VARCHAR(400) NOT NULL,
    name TEXT DEFAULT '' NOT NULL,
    address TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_person PRIMARY KEY (worker_id),
    CONSTRAINT uq_person_campaign_id_platform_platform_id UNIQUE (campaign_id, platform, platform_id),
    CONSTRAINT fk_person_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_person_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);

CREATE TABLE question (
    id BIGSERIAL NOT NULL,
    topic_id BIGINT NOT NULL,
    text TEXT NOT NULL,
    choices TEXT NOT NULL,
    right_choice INTEGER NOT NULL,
    CONSTRAINT pk_question PRIMARY KEY (id),
    CONSTRAINT fk_question_topic_id FOREIGN KEY(topic_id) REFERENCES topic (id)
);

CREATE INDEX ix_question_topic_id ON question (topic_id);

CREATE TABLE token (
    id BIGSERIAL NOT NULL,
    hash VARCHAR(64) NOT NULL,
    account_id BIGINT,
    campaign_id BIGINT,
    worker_id BIGINT,
    role VARCHAR(20) NOT NULL,
    scopes TEXT DEFAULT '' NOT NULL,
    made_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    CONSTRAINT pk_token PRIMARY KEY (id),
    CONSTRAINT ck_token_role_known CHECK (role IN ('organiser', 'expert', 'worker')),
    CONSTRAINT uq_token_hash UNIQUE (hash),
    CONSTRAINT fk_token_account_id FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT fk_token_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_token_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id)
);

CREATE INDEX ix_token_worker_id ON token (worker_id);

CREATE TABLE visit (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    parameters TEXT DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_visit PRIMARY KEY (id),
    CONSTRAINT fk_visit_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id)
);

CREATE INDEX ix_visit_worker_id ON visit (worker_id);

CREATE TABLE decision (
    id BIGSERIAL NOT NULL,
    pair_id BIGINT NOT NULL,
    expert_id BIGINT NOT NULL,
    grade SMALLINT NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    code VARCHAR(40) DEFAULT '' NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_decision PRIMARY KEY (id),
    CONSTRAINT fk_decision_pair_id FOREIGN KEY(pair_id) REFERENCES pair (id),
    CONSTRAINT fk_decision_expert_id FOREIGN KEY(expert_id) REFERENCES worker (id)
);

CREATE INDEX ix_decision_pair_id ON decision (pair_id);

CREATE TABLE entry (
    id BIGSERIAL NOT NULL,
    campaign_id BIGINT NOT NULL,
    worker_id BIGINT,
    assignment_id BIGINT,
    at BIGINT NOT NULL,
    why VARCHAR(40) NOT NULL,
    source VARCHAR(10) NOT NULL,
    target VARCHAR(10) NOT NULL,
    amount BIGINT NOT NULL,
    CONSTRAINT pk_entry PRIMARY KEY (id),
    CONSTRAINT ck_entry_positive CHECK (amount > 0),
    CONSTRAINT ck_entry_moves CHECK (source <> target),
    CONSTRAINT ck_entry_source_known CHECK (source IN ('outside', 'free', 'promised', 'owed', 'settled')),
    CONSTRAINT ck_entry_target_known CHECK (target IN ('outside', 'free', 'promised', 'owed', 'settled')),
    CONSTRAINT fk_entry_campaign_id FOREIGN KEY(campaign_id) REFERENCES campaign (id),
    CONSTRAINT fk_entry_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_entry_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);

CREATE INDEX ix_entry_assignment_id ON entry (assignment_id);

CREATE INDEX ix_entry_campaign_id ON entry (campaign_id);

CREATE INDEX ix_entry_worker_id ON entry (worker_id);

CREATE TABLE gold (
    pair_id BIGINT NOT NULL,
    grade SMALLINT NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    passage TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_gold PRIMARY KEY (pair_id),
    CONSTRAINT fk_gold_pair_id FOREIGN KEY(pair_id) REFERENCES pair (id)
);

CREATE TABLE member (
    set_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    pair_id BIGINT NOT NULL,
    role VARCHAR(20) NOT NULL,
    sole SMALLINT NOT NULL,
    CONSTRAINT pk_member PRIMARY KEY (set_id, position),
    CONSTRAINT fk_member_set_id_role FOREIGN KEY(set_id, role) REFERENCES judging_set (id, role),
    CONSTRAINT fk_member_pair_id_role FOREIGN KEY(pair_id, role) REFERENCES pair (id, role),
    CONSTRAINT uq_member_set_id_pair_id UNIQUE (set_id, pair_id),
    CONSTRAINT ck_member_from_one CHECK (position >= 1)
);

CREATE INDEX ix_member_pair_id ON member (pair_id);

CREATE UNIQUE INDEX uq_member_sole_pair ON member (pair_id) WHERE sole = 1;

CREATE TABLE outcome (
    id BIGSERIAL NOT NULL,
    assignment_id BIGINT NOT NULL,
    set_id BIGINT,
    "check" VARCHAR(20) NOT NULL,
    value FLOAT(53),
    at_least FLOAT(53) NOT NULL,
    passed SMALLINT NOT NULL,
    action VARCHAR(20) NOT NULL,
    CONSTRAINT pk_outcome PRIMARY KEY (id),
    CONSTRAINT fk_outcome_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    CONSTRAINT fk_outcome_set_id FOREIGN KEY(set_id) REFERENCES judging_set (id)
);

CREATE INDEX ix_outcome_assignment_id ON outcome (assignment_id);

CREATE INDEX ix_outcome_set_id ON outcome (set_id);

CREATE TABLE place (
    id BIGSERIAL NOT NULL,
    assignment_id BIGINT NOT NULL,
    worker_id BIGINT NOT NULL,
    set_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    ordinal INTEGER NOT NULL,
    key VARCHAR(32) NOT NULL,
    shown TEXT NOT NULL,
    held SMALLINT DEFAULT 0 NOT NULL,
    surplus SMALLINT DEFAULT 0 NOT NULL,
    reviews_id BIGINT,
    CONSTRAINT pk_place PRIMARY KEY (id),
    CONSTRAINT fk_place_assignment_id_worker_id FOREIGN KEY(assignment_id, worker_id) REFERENCES assignment (id, worker_id),
    CONSTRAINT uq_place_worker_id_set_id_kind UNIQUE (worker_id, set_id, kind),
    CONSTRAINT uq_place_assignment_id_ordinal UNIQUE (assignment_id, ordinal),
    CONSTRAINT ck_place_kind_known CHECK (kind IN ('count', 'gold', 'qualification', 'repeat', 'second', 'review', 'expert', 'machine')),
    CONSTRAINT ck_place_yes_or_no CHECK (held IN (0, 1) AND surplus IN (0, 1)),
    CONSTRAINT ck_place_only_counted_is_held CHECK (held = 0 OR (kind = 'count' AND surplus = 0)),
    CONSTRAINT fk_place_set_id FOREIGN KEY(set_id) REFERENCES judging_set (id),
    CONSTRAINT uq_place_key UNIQUE (key),
    CONSTRAINT fk_place_reviews_id FOREIGN KEY(reviews_id) REFERENCES place (id)
);

CREATE INDEX ix_place_assignment_id ON place (assignment_id);

CREATE INDEX ix_place_set_id ON place (set_id);

CREATE TABLE appeal (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    assignment_id BIGINT,
    kind VARCHAR(20) NOT NULL,
    position INTEGER,
    place_id BIGINT,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    answered_at BIGINT,
    won SMALLINT,
    reply TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_appeal PRIMARY KEY (id),
    CONSTRAINT ck_appeal_kind_known CHECK (kind IN ('refusal', 'gold')),
    CONSTRAINT fk_appeal_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_appeal_assignment_id FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    CONSTRAINT fk_appeal_place_id FOREIGN KEY(place_id) REFERENCES place (id)
);

CREATE INDEX ix_appeal_worker_id ON appeal (worker_id);

CREATE TABLE event (
    id BIGSERIAL NOT NULL,
    worker_id BIGINT NOT NULL,
    place_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    grade SMALLINT,
    ranking TEXT,
    milliseconds BIGINT DEFAULT 0 NOT NULL,
    at BIGINT NOT NULL,
    key VARCHAR(64) NOT NULL,
    follows BIGINT,
    stale SMALLINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_event PRIMARY KEY (id),
    CONSTRAINT uq_event_worker_id_key UNIQUE (worker_id, key),
    CONSTRAINT ck_event_kind_known CHECK (kind IN ('grade', 'ranking', 'cannot-tell', 'broken', 'clear')),
    CONSTRAINT ck_event_grade_has_a_grade CHECK ((kind = 'grade') = (grade IS NOT NULL)),
    CONSTRAINT ck_event_ranking_has_an_order CHECK ((kind = 'ranking') = (ranking IS NOT NULL)),
    CONSTRAINT ck_event_ranking_is_of_the_set CHECK (kind <> 'ranking' OR position = 0),
    CONSTRAINT ck_event_time_runs_forward CHECK (milliseconds >= 0),
    CONSTRAINT fk_event_worker_id FOREIGN KEY(worker_id) REFERENCES worker (id),
    CONSTRAINT fk_event_place_id FOREIGN KEY(place_id) REFERENCES place (id)
);

CREATE INDEX ix_event_place_id ON event (place_id);

CREATE TABLE sampled (
    id BIGSERIAL NOT NULL,
    place_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_sampled PRIMARY KEY (id),
    CONSTRAINT uq_sampled_place_id_position UNIQUE (place_id, position),
    CONSTRAINT fk_sampled_place_id FOREIGN KEY(place_id) REFERENCES place (id)
);

CREATE TABLE answer (
    place_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    event_id BIGINT NOT NULL,
    CONSTRAINT pk_answer PRIMARY KEY (place_id, position),
    CONSTRAINT fk_answer_place_id FOREIGN KEY(place_id) REFERENCES place (id),
    CONSTRAINT fk_answer_event_id FOREIGN KEY(event_id) REFERENCES event (id)
);

CREATE TABLE note (
    id BIGSERIAL NOT NULL,
    event_id BIGINT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_note PRIMARY KEY (id),
    CONSTRAINT ck_note_kind_known CHECK (kind IN ('reason', 'passage')),
    CONSTRAINT fk_note_event_id FOREIGN KEY(event_id) REFERENCES event (id)
);

CREATE INDEX ix_note_event_id ON note (event_id);

CREATE TABLE receipt (
    event_id BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    CONSTRAINT pk_receipt PRIMARY KEY (event_id),
    CONSTRAINT fk_receipt_event_id FOREIGN KEY(event_id) REFERENCES event (id)
);
