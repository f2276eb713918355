"""Which events matter: rules over single events, evaluated while a commit is prepared.

    sigma/     text       -> Rule        what a rule says, and why one cannot be loaded
    nodes      condition  as frozen nodes
    anchors    condition  -> literals    what every event that fires must contain
    prefilter  literals   -> candidates  which rules are worth verifying for an event
    verify     condition  -> predicate   whether an event fires, and which values did it
    expression condition  -> expression  the same as one Python expression
    views      Record, outcomes -> Event what rules may ask of an event
    rule_set   rules + event -> Hit      the parts above, put together

Pure: no I/O, no clock, no settings.
"""
