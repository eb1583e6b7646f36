new-tenant = New tenant
new-tenant-name = Name of the business
new-tenant-id = Id
new-tenant-id-hint = Letters, digits, dots and dashes. It stands in addresses and never changes.
new-tenant-from = Begin with
new-tenant-empty = nothing but the name
new-tenant-sample = the sample
new-tenant-sample-hint = A sample brings tools, a policy and business information, over a back end of its own that is only for trying out.
new-tenant-make = Make the tenant
tenant-done-made = The tenant is made. Next: its documents, its tools, and the chat for its pages.
tenant-done-document = The document is there. Answers can come from it from the next message on.
tenant-done-removed = The document is gone.
tenant-done-choose = You have proved who you are. Please choose the file once more.
document-file = A file
document-add = Add it
document-hint = Markdown, HTML, plain text or PDF. A document of the same name is replaced.
document-remove = Remove
document-remove-means = Nothing is answered from this document any more.
nav-colleagues = Colleagues
colleagues-title = Who may sign in
colleague-role = Role
colleague-tenants = Only these tenants (none chosen: all)
colleague-no-role = none yet
colleague-on = may sign in
colleague-off = disabled
colleague-change = Change
colleague-disable = Disable
colleague-enable = Let in again
colleague-disable-means = They are signed out everywhere, and let in no more.
colleague-new = New colleague
colleague-hint = They get a first password, which is shown once, and choose their own when they have signed in.
colleague-provider = People sign in at your identity provider here: it makes and deactivates their accounts.
colleague-all-hint = An administrator of all tenants can change everything, and everybody.
colleague-some-hint = Choose at least one tenant: nobody gives more than they have.
colleague-add = Add the colleague
colleague-made = “{ $name }” may sign in.
colleague-once = The first password is shown this once and stored nowhere. Hand it over now.
colleague-done-role = The role is changed, and their sign-ins have ended.
colleague-done-disabled = Disabled, and signed out everywhere.
colleague-done-enabled = They may sign in again.
owner-means = An administrator of all tenants can change every policy, tool, plan and colleague, you included.
affects-tenants =
    { $count ->
        [one] One tenant: { $names }
       *[other] { $count } tenants: { $names }
    }
typed-title = This changes a lot. Are you sure?
typed-ask = To go on, type the name:
typed-wrong = That was not the name. Nothing was done.
typed-go = Do it
typed-final = This cannot be undone.
undo = Undo
undo-hint = It can be taken back for ten minutes.
command-same = The same on the command line
widget-setup = Chat for web pages
widget-saved = Saved. Pages that are open show it when they are loaded again.
widget-snippet = The line for your page
widget-snippet-hint = Put it anywhere into the page. The key in it is public: it can chat, and nothing else.
widget-make-key = Make a key for this line
widget-keys = Keys for web pages:
widget-key-name = website
widget-no-origins = No site may show the chat yet. Name yours below.
widget-look = Sites and look
widget-origins = Sites that may show the chat
widget-origins-hint = One a line: https://shop.example, or https://*.shop.example for everything below it.
widget-brand-name = Name above the chat
widget-colour = Colour
widget-colour-hint = What is written on it is made black or white, and darker or lighter in it, so that it can be read. Now:
widget-greeting-title = What the chat says first
widget-ai-hint = The chat always says that it is an AI, and has a button to talk to a person: that makes an escalation.
tools-own = HTTP and MCP tools
tools-own-hint = Added here or in the tenant's file. What a tool may do, and what is asked before, is in the policy.
tools-own-none = None yet.
tools-others =
    { $count ->
        [one] One more source of tools runs code on this server: it is changed in the tenant's file, never here.
       *[other] { $count } more sources of tools run code on this server: they are changed in the tenant's file, never here.
    }
tools-manage = Add and try tools
tool-done-added = The tool is there from the next message on. Say in the policy what is asked before it runs.
tool-done-removed = The tool is gone from the next message on.
tool-remove-means = The agent cannot use it any more, in any conversation.
tool-tried = Tried:
tool-tried-sent = It only reads, so it was asked for real. This came back:
tool-tried-shown = It changes something, so nothing was sent. This would be:
tool-tried-failed = It did not work, and nothing was changed:
tool-try = Try it
tool-try-hint = Trying cannot act: a tool that only reads by GET is asked for real; of any other the request is shown, and an MCP server tells which tools it has.
tool-try-no-json = The arguments are no JSON object.
tool-try-no-json-fix = Write them like this: {"{"}"order_id": "12345"{"}"}
tool-arguments = Arguments (JSON)
tool-http = New HTTP tool
tool-http-hint = One request. Put parameters into braces; they are filled in, quoted, from the call.
tool-name = Name of the tool
tool-method = Method
tool-url = Address
tool-secret = Bearer token (stored sealed; empty: none)
tool-more = Body and parameters
tool-body = JSON body, with parameters in braces (empty: none)
tool-parameters = Parameters as JSON schema (empty: one text for each brace)
tool-add = Add the tool
tool-mcp = New MCP server
tool-mcp-hint = All its tools are added. Those whose effect nobody declared are denied until the policy says what they do.
tool-mcp-name = Name of the server
tool-mcp-url = Address of the server
tool-mcp-prefix = Prefix for the names of its tools (may be empty)
tool-mcp-secret = Header Authorization, such as “Bearer …” (stored sealed; empty: none)
affects-tools =
    { $count ->
        [one] One tool that changes something: { $names }
       *[other] { $count } tools that change something: { $names }
    }
affects-calls = In the last 30 days: { $messages } messages, { $acted } of them with something done; { $held } calls were held.
affects-standard = In standard mode there is no self-assessment and no second opinion: only what the policy itself wants confirmed is confirmed.
