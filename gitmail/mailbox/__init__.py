"""What callers do, a module a subject; `Mailbox` ties them together."""
