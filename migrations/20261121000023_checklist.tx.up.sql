-- Whether a business has used a feature of an aggregator, and an order of it, is
-- found without a look at its other calls.
CREATE INDEX calls_of_actions ON calls (business_id) WHERE kind = 'action';
