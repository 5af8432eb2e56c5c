-- Statements written by hand, each of which would break a rule: "-- what", then the statement.

-- held above target
UPDATE judging_set SET held = target + 1;

-- a counter that the places do not say
UPDATE judging_set SET held = held + 1 WHERE target > 0;

-- a target below what is held
UPDATE judging_set SET target = 0 WHERE held > 0;

-- gold that counts
UPDATE judging_set SET target = 1 WHERE role = 'gold';

-- a place held by a void batch
UPDATE place SET held = 1 WHERE assignment_id = (SELECT id FROM assignment WHERE state = 'returned')
AND kind = 'count';

-- a gold place that is held
UPDATE place SET held = 1 WHERE kind = 'gold';

-- a place moved to another set
UPDATE place SET set_id = set_id + 1;

-- a set twice to one worker
INSERT INTO place (assignment_id, worker_id, set_id, kind, ordinal, key, shown) SELECT
assignment_id, worker_id, set_id, kind, 99, 'x', shown FROM place LIMIT 1;

-- a place taken away
DELETE FROM place;

-- an assignment taken away
DELETE FROM assignment;

-- an event changed
UPDATE event SET grade = 0;

-- an event taken away
DELETE FROM event;

-- an event after the end
INSERT INTO event (worker_id, place_id, position, kind, grade, at, key) SELECT p.worker_id, p.id, 1,
'grade', 0, 1, 'new' FROM place p JOIN assignment a ON a.id = p.assignment_id WHERE a.state =
'accepted' LIMIT 1;

-- an event on another's place
INSERT INTO event (worker_id, place_id, position, kind, grade, at, key) SELECT p.worker_id - 1,
p.id, 1, 'grade', 0, 1, 'new' FROM place p JOIN assignment a ON a.id = p.assignment_id WHERE a.state
= 'active' LIMIT 1;

-- a key used twice
INSERT INTO event (worker_id, place_id, position, kind, grade, at, key) SELECT worker_id, place_id,
1, 'grade', 0, 1, key FROM event WHERE place_id IN (SELECT p.id FROM place p JOIN assignment a ON
a.id = p.assignment_id WHERE a.state = 'active') LIMIT 1;

-- a step that is not in the table
UPDATE assignment SET state = 'active' WHERE state = 'accepted';

-- a batch that ends and keeps its places
UPDATE assignment SET state = 'returned' WHERE state = 'active';

-- two open batches
INSERT INTO assignment (campaign_id, worker_id, key, kind, state, leased_at, expires_at, latest_end)
SELECT campaign_id, worker_id, 'x', kind, 'active', 1, 2, 2 FROM assignment WHERE state = 'active'
LIMIT 1;

-- money from nowhere
UPDATE campaign SET free = free + 1;

-- an account below zero
INSERT INTO entry (campaign_id, at, why, source, target, amount) SELECT id, 1, 'x', 'free', 'owed',
free + 1 FROM campaign;

-- a negative amount
INSERT INTO entry (campaign_id, at, why, source, target, amount) SELECT id, 1, 'x', 'free', 'owed',
(0 - 5) FROM campaign;

-- an entry changed
UPDATE entry SET amount = amount + 1;

-- an entry taken away
DELETE FROM entry;

-- an audit changed
UPDATE audit SET who = 'nobody';

-- a set changed after its lease
DELETE FROM member WHERE set_id IN (SELECT set_id FROM place);

-- a pair in two sets
INSERT INTO member (set_id, position, pair_id, role, sole) SELECT s.id, 99, m.pair_id, 'pool', 1
FROM judging_set s, member m WHERE s.role = 'pool' AND s.held = 0 AND m.role = 'pool' AND m.set_id
<> s.id LIMIT 1;

-- a gold pair in the pool
INSERT INTO member (set_id, position, pair_id, role, sole) SELECT s.id, 99, m.pair_id, 'pool', 1
FROM judging_set s, member m WHERE s.role = 'pool' AND s.held = 0 AND m.role = 'gold' LIMIT 1;

-- an unknown state
UPDATE worker SET state = 'happy';

-- a person's name among the answers
UPDATE worker SET name = 'Ann';

-- a grade without a grade
INSERT INTO event (worker_id, place_id, position, kind, at, key) SELECT p.worker_id, p.id, 1,
'grade', 1, 'new' FROM place p JOIN assignment a ON a.id = p.assignment_id WHERE a.state = 'active'
LIMIT 1;

-- consent changed
UPDATE consent SET version = '2';
