#!/usr/bin/env python3
"""read_mail.py FILE SUBJECT TEXT - is the file a mail as a mail reader takes it, with this beginning of a subject, and TEXT in its page?"""
import email, email.policy, sys

with open(sys.argv[1], "rb") as f:
    mail = email.message_from_binary_file(f, policy=email.policy.default)
page = mail.get_content()
for what, found in (("To", mail["To"] == "noc@example.org"), ("type", mail.get_content_type() == "text/html"),
                    ("Subject %r" % mail["Subject"], mail["Subject"].startswith(sys.argv[2])), ("page", sys.argv[3] in page), ("defects", not mail.defects)):
    if not found:
        sys.exit("read_mail: %s is wrong" % what)
print(mail["Subject"])
