"""Acting on a web page without a browser of ours: pages come in as HTML, one action after the other comes out.

A click that commits waits for a yes, bound to what the form holds. What an action did is told by the page
that comes next, not by whoever carried it out.
"""

import asyncio

from circumspect import Agent
from circumspect.web.browser.html_snapshot import page_of_html
from circumspect.web.browsing import Interaction, PageRequest, interact, setup_for_pages

URL = "https://clinic.example/patients/new"
FORM = """
<title>New patient</title><h1>New patient</h1>
<form id="new" method="post" aria-label="New patient">
  <label for="first">First name</label><input id="first" name="first" required value="{first}">
  <label for="last">Last name</label><input id="last" name="last" required value="{last}">
  <button id="create">Create patient</button>
</form>"""
CREATED = '<title>Ann Lee</title><h1>Ann Lee</h1><p role="status">Patient Ann Lee was created.</p>'


async def main() -> None:
    async with Agent("clinic", model="offline", database=":memory:") as agent:
        setup = setup_for_pages(await agent.open())
        session: str | None = None

        async def step(html: str, query: str = "") -> Interaction:
            nonlocal session
            made = await interact(setup, PageRequest(page_of_html(html, URL), query=query, session=session))
            session = made.session
            if query:
                print(f"user:   {query}")
            if made.verified:
                print(f"        {'✓' if made.verified.success else '✗'} {made.verified.happened}")
            if made.action:
                print(f"action: {made.action.call.tool}, because: {made.action.expected.why}")
            else:
                print(f"agent:  {made.result.reply}")
            return made

        await step(FORM.format(first="", last=""), "Add patient Ann Lee")
        await step(FORM.format(first="Ann", last=""))
        await step(FORM.format(first="Ann", last="Lee"))  # everything is there: asks before it is sent
        await step(FORM.format(first="Mallory", last="Lee"), "yes")  # the form holds something else: that yes is void
        await step(FORM.format(first="Ann", last="Lee"), "Add patient Ann Lee")
        await step(FORM.format(first="Ann", last="Lee"), "yes")
        await step(CREATED)


asyncio.run(main())
