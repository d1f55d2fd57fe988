"""The official SDK of the Model Context Protocol (package "mcp") as the client: every tool is called, and the SDK holds each answer against the
tool's outputSchema, which it refuses to hand out otherwise. Prints the tools whose answers have a schema.

usage: mcp_sdk.py ROCEWATCH DATABASE ARGUMENTS      ARGUMENTS: of each tool, JSON"""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "--db", sys.argv[2]])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        described = []
        for tool in (await session.list_tools()).model_dump(by_alias=True)["tools"]:
            answer = (await session.call_tool(tool["name"], json.loads(sys.argv[3]).get(tool["name"], {}))).model_dump(by_alias=True)
            described += [tool["name"]] if tool["outputSchema"] and answer["structuredContent"] and not answer["isError"] else []
        print(json.dumps(described))


asyncio.run(main())
