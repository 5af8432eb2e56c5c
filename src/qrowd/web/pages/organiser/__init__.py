"""The pages of organisers and experts: plain HTML from the server, one module per subject.

    ADDRESS                        WHAT                                    MODULE
    /set-up?code=  /sign-in        the first account; signing in           signing
    /join?invitation=              an account by invitation                accounts
    /campaigns                     home: campaigns, drafts, their state    home
    /accounts                      who has an account (administrators)     accounts
    /drafts/KEY/STEP               the wizard, up to launch                wizard, launching
    /drafts/KEY/gold/grade         documents to grade, which become gold   grading
    /campaigns/NAME                on track or not; coverage; money        live
        /quality /systems /gold    what jobs found, check questions        quality, findings
        /workers  /links           workers, one worker; invitations        workers, inviting
        /act  /extend              acts, asked with their cost; more pool  acting
        /acts /appeals /batches    the record with undo; what waits        record

Addresses under /api are the JSON interface, /judge the workers' pages, /static files. A page never
has rules of its own: it calls the functions of the interface (`qrowd.web.api`) or of `collection`,
and shows what they return.

A page is a function that takes a `Visit` (`frame`): who asks, the database, what the form sent.

    router = page_router()

    @router.get("/campaigns/{name}/workers")
    def workers(name: str, visit: Visiting) -> Response:
        member = visit.organiser(name, "read")             # refused: a page that says why
        with member.store.read(member.campaign) as work:
            rows = people.listed(work, 0, 100)
        return visit.show("organiser/workers.html.j2", member=member, tab="workers", rows=rows)

    @router.post("/campaigns/{name}/workers/{number}/screen-out")
    def screen_out(name: str, number: int, visit: Visiting) -> Response:
        member = visit.organiser(name, "manage")           # the forgery token was checked before
        if not visit.sure:                                 # the first time: what it costs, and ask
            return visit.ask(Question("Screen this worker out?", ["Open work is ended."], ...))
        done = manage.perform(ActWanted(act="screen out", details=...), member)
        return visit.go(f"/campaigns/{name}/workers", told="Screened out.", undo=done.number)

A template extends `organiser/frame.html.j2` (a campaign's page: `organiser/campaign.html.j2`,
whose tabs are `frame.TABS`) and takes its parts from `organiser/parts.html.j2`: form (with the
forgery token), field, number, choices, upload, switch, button, facts, note. Pages are read without
scripts; a script is `<script type="module" nonce="{{ visit.nonce }}" src=...>`, and nothing else
runs. No `style` attributes: the policy forbids them; pictures of `reporting` go through
`pictures.placed(svg)`, which makes attributes of their styles.

`visit.go(address, told=..., undo=...)` ends every POST: the next page shows what was done and, with
the number of an act, a button that takes it back (POST /campaigns/NAME/acts/NUMBER/undo). An error
(`RuleError`, `InputError`) in a GET becomes a page that says what happened; a POST with a form
catches what the form can mend, and shows its page again with `problem=str(error)` and the answers.
"""
