-- exempt: `ichido dev` looks for the test organisation it made before.
--
-- $1 name
SELECT org_id
FROM orgs
WHERE name = $1 AND mode = 'test'
ORDER BY org_id
LIMIT 1
