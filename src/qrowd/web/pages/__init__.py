"""Pages, one module per subject: plain HTML from the server for organisers and experts (all but
`judging`, which is for workers).

    ADDRESS                        WHAT                                    MODULE
    /judge/NAME                    where workers judge; documents to read  judging
    /decline/NAME?link=            where people say that they will not     people
    /set-up?code=  /sign-in        the first account; signing in           office
    /join?invitation=              an account by invitation                office
    /campaigns                     home: campaigns, drafts, their state    office
    /accounts                      who has an account (administrators)     office
    /drafts/KEY/STEP               the wizard, up to launch                drafts, launch
    /drafts/KEY/gold/grade         documents to grade, which become gold   own_gold
    /campaigns/NAME                on track or not; coverage               live
        /money                     what is owed, a payout file and back    money
        /prolific                  the study at Prolific, and its webhooks  prolific
        /qualification             a test that people take elsewhere       qualification
        /people/before             people of an earlier campaign           panel
        /quality /systems /gold    what jobs found, check questions        quality
        /document  /documents      one with all that was said; broken ones documents
        /workers                   workers, one worker                     workers
        /people                    who may come in; letters to people      people
        /act  /acts  /extend       acts, asked with their cost; the record acts
        /appeals  /batches         what waits                              acts
        /decisions  /experts/...   what experts decided; what they do      adjudication
        /releases                  what is published                       releases

Addresses under /api are the JSON interface, /static files. A page never has rules of its own: it
calls the functions that the interface (`qrowd.web.api`) calls, and shows what they return.

A page is a function that takes a visit (`frame`): who asks, the database, what the form sent. Which
visit it takes says who may see it: everything else is refused with a page that says why.

    router = page_router()

    @router.get("/campaigns/{name}/workers")
    def workers(visit: ReaderVisit) -> Response:
        with visit.read() as work:
            data = {"rows": people.listed(work, 0, 100), **visit.top(work, "/workers")}
        return visit.show("organiser/workers.html.j2", **data)

    @router.post("/campaigns/{name}/workers/{number}/forget")
    def forget(number: int, visit: KeeperVisit) -> Response:        # the forgery token was checked
        if not visit.sure:                                 # the first time: what follows, and ask
            return visit.confirm(Confirmation(Text("office.worker.forget-question", ...)))
        erase(visit.member, number)
        return visit.go(visit.address("/workers"), message=Text("office.worker.forgotten"))

An act of an organiser needs no page of its own: /act asks and does every one of them, and
`live.acts("worker", state, {"worker": number})` in a template draws buttons and forms of all that
are possible there.

A template extends `organiser/frame.html.j2` (a campaign's page: `organiser/campaign.html.j2`,
whose tabs are `frame.TABS`) and takes its parts from `organiser/parts.html.j2`: form (with the
forgery token), field, number, choices, upload, switch, button, facts, note. Pages are read without
scripts; a script is `<script type="module" nonce="{{ visit.nonce }}" src=...>`, and nothing else
runs. No `style` attributes: the policy forbids them; pictures of `reporting` go through
`quality.embedded(svg)`, which makes attributes of their styles.

`visit.go(address, message=..., undo=...)` ends every POST: the next page shows what was done and,
with the number of an act, a button that takes it back (POST /campaigns/NAME/acts/NUMBER/undo). An
error (`RuleError`, `InputError`) in a GET becomes a page that says what happened; a POST with a
form catches what the form can mend, and shows its page again, for `visit.with_problem(error, 409)`.
"""
